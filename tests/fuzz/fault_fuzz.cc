// Random jobs with failing copies, failing writes and dying ranks: everything ends with a status
// that says where it broke, and what was not hit succeeds.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/fuzz/fuzz_run.h"
#include "tests/fuzz/refusals.h"
#include "tests/fuzz/seeds.h"

namespace hoccl::engine {
namespace {

constexpr std::uint64_t kSeeds = 500;
constexpr std::uint64_t kShards = 4;
/// Ends of one message that wait for each other one after the other: ready, lease, chunk, sent.
constexpr double kTimeoutsPerMessage = 4.0;

struct FaultCase {
  FuzzCase job;
  Rank victim;  ///< none: nobody dies
  Seconds death{0.0};
  [[nodiscard]] bool is_detected() const {
    return job.fabric.faults.detection_delay >= Seconds(0.0);
  }
};

FaultCase draw_fault_case(std::uint64_t seed) {
  FaultCase result{draw_case(seed), Rank::none(), Seconds(0.0)};
  Random random(seed ^ 0xfa0175);
  FuzzCase& job = result.job;
  IdealFaults& faults = job.fabric.faults;
  job.fabric.slots_are_read = false;
  const int kind = static_cast<int>(random.between(0, 3));
  if (kind == 0) faults.write_error = 0.05 * random.uniform();
  if (kind == 1) faults.copy_error = 0.05 * random.uniform();
  if (kind >= 2) {
    result.victim = Rank(random.between(0, job.topology.rank_count() - 1));
    result.death = Seconds(3e-3 * random.uniform());
    faults.dead_dma_finishes = random.chance(0.5);
    // Far below the timeout, or never.
    faults.detection_delay = Seconds(kind == 2 ? 1e-2 * random.uniform() : -1.0);
    job.reuse_buffers = kind == 2;
  }
  faults.flush_queue_pair = random.chance(0.5);
  job.fabric.time_limit =
      job.pipeline.timeout * (kTimeoutsPerMessage * static_cast<double>(job.messages.size() + 1));
  return result;
}

class FaultRun {
 public:
  explicit FaultRun(std::uint64_t seed) : case_(draw_fault_case(seed)), run_(case_.job) {}

  /// What is wrong; empty when all is well.
  std::string check();

 private:
  [[nodiscard]] bool hit(const FuzzRun::Part& part);
  [[nodiscard]] std::string check_group(const FuzzRun::Group& group);
  [[nodiscard]] std::string check_names(const Status& status) const;

  FaultCase case_;
  FuzzRun run_;
};

/// Whether a fault touched this message.
bool FaultRun::hit(const FuzzRun::Part& part) {
  if (run_.fabric().failed_operations().contains(run_.operation_of(part.message))) return true;
  if (case_.victim.is_none()) return false;
  const FuzzMessage& message = case_.job.messages[part.message];
  const Topology& topology = case_.job.topology;
  if (message.source == case_.victim || message.target == case_.victim) return true;
  const Plan plan = plan_of(message, case_.job);
  return std::ranges::any_of(plan.transfers, [&](const Transfer& transfer) {
    if (delivers_to(transfer, case_.victim)) return true;
    // Perhaps it is the relay.
    if (transfer.route == Route::kDirect && refuses(case_.job.fabric.faults) &&
        topology.node_of(transfer.source) == topology.node_of(case_.victim)) {
      return true;
    }
    return transfer.route == Route::kStaged &&
           (topology.host_of(topology.place_of(transfer.send_nic)) == case_.victim ||
            topology.host_of(topology.place_of(transfer.receive_nic)) == case_.victim);
  });
}

/// An error says who saw it, towards whom, on which link and at which chunk.
std::string FaultRun::check_names(const Status& status) const {
  const int ranks = case_.job.topology.rank_count();
  const auto is_rank = [&](Rank rank) { return !rank.is_none() && rank.value() < ranks; };
  if (is_rank(status.rank) && is_rank(status.peer) && !status.link.empty() &&
      !status.flow.is_none() && status.chunk >= 0) {
    return {};
  }
  return "does not say where: " + to_string(status);
}

std::string FaultRun::check_group(const FuzzRun::Group& group) {
  if (group.rank == case_.victim) return {};
  const auto name = [&] {
    return fmt::format("message {} on rank {}", group.parts.front().message, group.rank);
  };
  const auto status = group.work->status();
  if (!status) return name() + " did not end";
  if (!status->ok()) {
    const std::string wrong = check_names(*status);
    if (!wrong.empty()) return name() + " " + wrong;
  }
  // Who waits for an undetected death may run into a timeout while its peer does so elsewhere.
  if (!case_.victim.is_none() && !case_.is_detected()) return {};
  const bool is_hit =
      std::ranges::any_of(group.parts, [&](const FuzzRun::Part& part) { return hit(part); });
  if (!is_hit && !status->ok()) return name() + " was not hit but: " + to_string(*status);
  return {};
}

std::string FaultRun::check() {
  if (!case_.victim.is_none()) run_.fabric().kill(case_.victim, case_.death);
  const RunEnd end = run_.run();
  if (!run_.found().empty()) return run_.found();
  for (const auto& group : run_.groups()) {
    const std::string wrong = check_group(*group);
    if (!wrong.empty()) return wrong;
  }
  if (end != RunEnd::kIdle) return fmt::format("did not end (reason {})", static_cast<int>(end));
  if (!run_.fabric().streams_drained()) return "a stream is stuck";
  if (!case_.victim.is_none() && !case_.is_detected()) return {};
  for (int i = 0; i < case_.job.topology.rank_count(); ++i) {
    if (Rank(i) != case_.victim && !run_.job().proxy(Rank(i)).quiescent()) {
      return fmt::format("the proxy of rank {} is not quiescent", i);
    }
  }
  return run_.fabric().unfinished();
}

class FaultFuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(FaultFuzz, EndsEveryOperationAndNamesWhereItBroke) {
  for_each_seed(kSeeds, GetParam(), kShards, [](std::uint64_t seed) {
    const std::string wrong = FaultRun(seed).check();
    return wrong.empty() ? wrong : wrong + "; " + describe(draw_fault_case(seed).job);
  });
}

INSTANTIATE_TEST_SUITE_P(Shards, FaultFuzz, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace hoccl::engine
