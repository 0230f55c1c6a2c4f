#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/proxy.h"
#include "sim/fabric/cpu_account.h"
#include "sim/fabric/inbox.h"
#include "sim/fabric/sim_lane.h"
#include "sim/fabric/sim_queue_pair.h"
#include "sim/fabric/sim_stream.h"
#include "sim/fabric/world.h"
#include "sim/machine/cpu.h"

namespace hoccl::sim {

/// The port of one simulated rank. The proxy side runs on a core of its own, on which every call
/// costs time; the application side on another. A call takes effect when its core has come to it,
/// so a proxy sees what had happened when its step began, and its posts leave one after the other.
class SimPort : public engine::Port {
 public:
  SimPort(World& world, engine::Rank rank);

  [[nodiscard]] engine::Rank rank() const override { return rank_; }
  [[nodiscard]] const engine::Topology& topology() const override { return world_.topology; }
  /// The proxy core's time during a step, else the application's.
  [[nodiscard]] engine::Seconds now() const override;

  engine::Ticket post_copy(engine::Lane lane, const engine::CopyRequest& request) override;
  void flush() override;
  engine::Ticket post_write(engine::QueuePairId queue_pair,
                            const engine::WriteRequest& request) override;
  void post_message(engine::Rank target, const engine::Message& message) override;
  engine::QueuePairId queue_pair(engine::NicId local, engine::NicId remote, engine::Rank peer,
                                 int index) override;
  [[nodiscard]] const engine::StagingPlace& staging(engine::PlaceId place) const override;
  void export_buffer(engine::BufferHandle buffer) override;
  void register_buffer(engine::BufferHandle buffer) override;
  void import_buffer(engine::BufferHandle buffer) override;
  void open_gate(engine::Gate gate, engine::Sequence sequence) override;
  void finish(engine::WorkId work, const engine::Status& status) override;
  std::size_t poll(std::span<engine::Completion> out) override;
  void account(engine::CpuWork work, std::int64_t count) override;
  void report_copies(engine::GpuId gpu, engine::LinkSide side, int under_way) override;
  [[nodiscard]] int copies_under_way(engine::GpuId gpu, engine::LinkSide side) const override;

  void enqueue_ready(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_wait(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_foreground(engine::StreamId stream, bool active) override;
  void submit(std::shared_ptr<const engine::Command> command) override;
  [[nodiscard]] std::optional<engine::Status> query(engine::WorkId work) const override;

  // --- the simulation's side ---

  /// From now on the proxy is stepped whenever it would find something, or at its deadline.
  void attach(engine::Proxy* proxy);
  /// The process is gone: its proxy is never stepped again.
  void stop();
  /// Puts a completion where poll() finds it from `time` on.
  void deliver(engine::Seconds time, engine::Completion&& completion);
  /// Spends time of the proxy's core. `calls`: of the GPU driver, that are part of it.
  void charge(CpuPart part, engine::Seconds cost, int calls = 0) {
    const engine::Seconds time = cost + wait_for_driver(cpu_, calls);
    cpu_.advance(time);
    account_.add(part, time);
  }
  [[nodiscard]] const CpuClock& cpu() const { return cpu_; }
  [[nodiscard]] const CpuAccount& cpu_account() const { return account_; }
  /// The caller's time in submit and enqueue calls.
  [[nodiscard]] engine::Seconds launch_time() const { return application_.busy_time(); }
  /// A kernel of the application, after what its stream already holds.
  void enqueue_kernel(engine::StreamId stream, engine::Seconds duration);
  /// Work whose duration somebody else decides, after what the stream already holds: calls `begin`
  /// and holds the stream until release() of its gpu_stream().
  void enqueue_external(engine::StreamId stream, Callback begin);
  /// The same by a call that takes the caller this long.
  void enqueue_external(engine::StreamId stream, Callback begin, engine::Seconds cost);
  /// Something else of the application's that takes it this long; then calls `done`.
  void work(engine::Seconds cost, Callback done);
  [[nodiscard]] SimStream& stream(engine::StreamId id);
  /// When finish() was called for `work`.
  [[nodiscard]] std::optional<engine::Seconds> finish_time(engine::WorkId work) const;
  /// When it was called last; none: never.
  [[nodiscard]] std::optional<engine::Seconds> finished_at() const { return finished_at_; }
  /// All queue pairs over `nic`, at either end, break now; also those created later.
  void fail_nic(engine::NicId nic);

 private:
  /// A call of the application that its core has not come to yet.
  struct Action {
    enum class Kind : std::uint8_t { kReady, kWait, kForeground, kKernel, kExternal, kWork };
    Kind kind;
    SimStream* stream = nullptr;
    SimGate* gate = nullptr;
    engine::Sequence sequence = 0;
    bool active = false;
    engine::Seconds duration{0.0};
    Callback begin = {};
  };
  struct Finished {
    engine::Status status;
    engine::Seconds time;
  };

  /// What calls of the driver that a core makes now wait for those of other threads.
  engine::Seconds wait_for_driver(const CpuClock& core, int calls);
  SimLane& lane(engine::Lane lane);
  SimGate& gate(engine::Gate gate);
  /// By a call of the driver.
  void act(const Action& action, engine::Seconds cost);
  void act_next();
  [[nodiscard]] engine::Seconds poll_cost(const engine::Completion& completion) const;
  /// Copies whose events the driver is asked about in a look.
  [[nodiscard]] int asked_lanes() const;
  [[nodiscard]] engine::Seconds look(int asked) const;
  [[nodiscard]] engine::Seconds half_a_look() const;

  void arm_wake();
  void wake();
  void set_deadline(std::optional<engine::Seconds> deadline);
  void deadline_reached();
  void step();

  World& world_;
  engine::Rank rank_;
  CpuClock cpu_;
  CpuClock application_;
  CpuAccount account_;
  std::map<std::pair<engine::GpuId, engine::LinkSide>, int> reported_copies_;
  Inbox inbox_;

  engine::Proxy* proxy_ = nullptr;
  bool stepping_ = false;
  bool stopped_ = false;
  bool wake_armed_ = false;
  engine::Seconds wake_time_{0.0};
  EventId wake_event_;
  std::optional<engine::Seconds> deadline_;
  bool deadline_armed_ = false;
  engine::Seconds deadline_armed_for_{0.0};
  EventId deadline_event_;

  std::array<std::vector<std::unique_ptr<SimLane>>, engine::kCopyClassCount> lanes_;
  std::vector<SimLane*> open_lanes_;  ///< in order of their first copy since the last flush
  std::vector<std::unique_ptr<SimQueuePair>> queue_pairs_;
  std::map<std::tuple<engine::NicId, engine::NicId, engine::Rank, int>, engine::QueuePairId>
      queue_pair_ids_;
  std::vector<engine::NicId> failed_nics_;

  std::map<engine::StreamId, std::unique_ptr<SimStream>> streams_;
  std::map<engine::Gate, std::unique_ptr<SimGate>> gates_;
  std::deque<Action> actions_;
  std::unordered_map<engine::WorkId, Finished> finished_;
  std::optional<engine::Seconds> finished_at_;
};

}  // namespace hoccl::sim
