#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/communicator.h"
#include "engine/run_result.h"
#include "engine/trace/trace.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/fabric/proxy_thread.h"
#include "hw/proof/zero_sm_verdict.h"
#include "hw/run/failure_watch.h"
#include "hw/run/rank_buffers.h"
#include "hw/run/scenario.h"

namespace hoccl::hw {

/// An operation ended with an error, or a byte was wrong. One line.
class RunFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One rank's part of a measurement, as nccl-tests measures: buffers are allocated once, a warm-up,
/// then rounds of back-to-back operations on one stream behind a barrier (but a round ends when its
/// last operation does, before the stream has gone on). Collective: all ranks
/// construct it and call everything in the same order, also those that only relay.
class Measurement {
 public:
  /// For sizes up to `largest`. The fabric must outlive it. `steps`: as for ProxyThread.
  Measurement(HwFabric& fabric, const RunScenario& scenario, engine::Bytes largest,
              StepRecord* steps = nullptr);
  ~Measurement();

  /// The same result on all ranks. `trace`, if not null, is given the legs of all ranks in the one
  /// traced operation. Throws RunFailed, at once and without a word to the others, who learn it as
  /// the loss of this rank; BootstrapError when a rank is lost.
  engine::RunResult measure(engine::Bytes size, std::vector<engine::TraceEvent>* trace = nullptr);

  /// Runs one more operation of the last measured size while the GPU's activity is recorded. The
  /// same verdict on all ranks.
  ZeroSmVerdict prove();

  /// Waits for all ranks: until then this one may be needed as a relay.
  void finish();

 private:
  struct Counters {
    engine::Seconds launch{0.0};
    engine::Seconds submit{0.0};
    engine::Seconds proxy{0.0};
    bool has_driver = false;
    engine::DriverUse driver;
  };

  /// Barrier; throws instead when an operation has ended badly here.
  void meet(const std::string& failure = {});
  /// What this rank calls for `pattern_`.
  void choose_call(engine::Bytes size);
  /// What this rank has used per operation between two readings.
  [[nodiscard]] Counters used(const Counters& before, int operations) const;
  /// One operation of this rank, if it has a part in it.
  void enqueue();
  std::shared_ptr<engine::Work> call();
  /// Seconds of `count` back-to-back operations, until the proxy has ended the last one.
  engine::Seconds run(int count);
  /// Of a warm-up that took this rank `warmup_time`.
  [[nodiscard]] int choose_iterations(engine::Seconds warmup_time);
  void measure_rounds(engine::RunResult& result, int iterations);
  void check_bytes();
  engine::LegTimes trace_legs(std::vector<engine::TraceEvent>* trace);
  [[nodiscard]] Counters counters() const;
  [[nodiscard]] std::string first_failure() const;

  HwFabric& fabric_;
  const RunScenario& scenario_;
  ProxyThread proxy_;
  engine::Communicator communicator_;
  RankBuffers buffers_;
  engine::Pattern pattern_;                    ///< of the size that is being measured
  std::shared_ptr<const engine::Plan> saved_;  ///< null: none
  /// What this rank calls at this size: the first of these that is there, or nothing.
  std::shared_ptr<const engine::Plan> plan_;
  engine::MemberList plan_members_;
  std::optional<engine::CollectiveRequest> collective_;
  std::vector<engine::SendRecvRequest> requests_;
  std::vector<std::shared_ptr<engine::Work>> works_;
  FailureWatch watch_;
  engine::Seconds launch_time_{0.0};
  std::uint64_t checked_operations_ = 0;
};

}  // namespace hoccl::hw
