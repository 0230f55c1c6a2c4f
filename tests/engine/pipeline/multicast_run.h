#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/schedule/plan.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {

inline constexpr Bytes kMulticastChunk(4096);

/// A job of real proxies on h800-2x4 that runs one multicast: rank 0 sends to ranks 4, 6 and 7 over
/// NIC 1 -> NIC 5, whose slots ranks 1 and 5 host.
class MulticastRun {
 public:
  static const std::vector<Rank> kTargets;
  static constexpr Seconds kTimeout{0.5};

  /// Slots hold one chunk. `options.slot_size` and the time limit are set here.
  explicit MulticastRun(IdealOptions options);

  IdealFabric& fabric() { return *fabric_; }
  Job& job() { return *job_; }
  [[nodiscard]] Plan plan_of(Bytes size) const;

  /// Every rank calls it, each on stream 0.
  void enqueue(Bytes size);
  /// One rank calls it with a plan of its own.
  void enqueue(Rank rank, const Plan& plan);
  void run();

  /// How it ended on a rank; a failure of the test when it has not.
  [[nodiscard]] Status status(Rank rank) const;
  /// When the rank's stream went on.
  [[nodiscard]] Seconds end(Rank rank) const { return ends_.at(rank); }
  /// Ok everywhere, the right bytes at every target, nothing left behind.
  void expect_all_ok();
  /// Nothing of any rank but `dead` is left behind.
  void expect_quiescent(Rank dead = Rank::none());

 private:
  std::unique_ptr<IdealFabric> fabric_;
  std::unique_ptr<Job> job_;
  std::map<Rank, std::shared_ptr<Work>> works_;
  std::map<Rank, Region> received_;
  std::map<Rank, Seconds> ends_;
};

}  // namespace hoccl::engine
