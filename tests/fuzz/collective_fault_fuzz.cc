// Random patterns with failing copies, failing writes and dying ranks: every rank's operation ends
// with a status that says where it broke, soon, and nothing is left behind.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "engine/base/config_error.h"
#include "tests/fuzz/schedule_case.h"
#include "tests/fuzz/seeds.h"
#include "tests/support/pattern_run.h"

namespace hoccl::engine {
namespace {

constexpr std::uint64_t kSeeds = 500;
constexpr std::uint64_t kShards = 2;

struct FaultCase {
  ScheduleCase schedule_case;
  Rank victim;  ///< none: nobody dies
  Seconds death{0.0};
};

FaultCase draw_fault_case(std::uint64_t seed) {
  FaultCase result{draw_schedule_case(seed), Rank::none()};
  Random random(seed ^ 0xfa017);
  ScheduleCase& schedule_case = result.schedule_case;
  IdealFaults& faults = schedule_case.fabric.faults;
  schedule_case.fabric.slots_are_read = false;
  const auto kind = random.between(0, 2);
  if (kind == 0) faults.write_error = 0.1 * random.uniform();
  if (kind == 1) faults.copy_error = 0.1 * random.uniform();
  if (kind == 2) {
    result.victim = Rank(random.between(0, schedule_case.topology.rank_count() - 1));
    result.death = Seconds(1e-3 * random.uniform());
    faults.dead_dma_finishes = random.chance(0.5);
    // Far below the timeout.
    faults.detection_delay = Seconds(1e-2 * random.uniform());
  }
  faults.flush_queue_pair = random.chance(0.5);
  return result;
}

/// What is wrong with how the operation ended on a rank; empty when all is well.
std::string check_end(const FaultCase& fault_case, PatternRun& run, Rank rank) {
  const std::optional<Status> status = run.status(0, rank);
  if (!status) return fmt::format("rank {} did not end", rank);
  if (!run.job().proxy(rank).quiescent()) {
    return fmt::format("rank {} has work left: {}", rank, run.job().proxy(rank).describe());
  }
  if (status->ok()) return "";
  const bool faulty = !fault_case.victim.is_none() || !run.fabric().failed_operations().empty();
  if (!faulty) return fmt::format("without any fault: {}", to_string(*status));
  // News travel; nobody has to wait for the watchdog.
  if (status->cause == Cause::kTimeout) return to_string(*status);
  if (status->rank.is_none() || status->peer.is_none()) {
    return "does not say where: " + to_string(*status);
  }
  return "";
}

std::string check(const FaultCase& fault_case) {
  const ScheduleCase& schedule_case = fault_case.schedule_case;
  const Topology& topology = schedule_case.topology;
  std::shared_ptr<const Plan> plan;
  try {
    plan = std::make_shared<const Plan>(
        compile(schedule_case.pattern, topology, schedule_case.compile));
  } catch (const ConfigError&) {
    return "";  // there is nothing to run
  }
  PatternRun run(topology, schedule_case.fabric, schedule_case.pipeline);
  run.enqueue(schedule_case.pattern, {plan});
  if (!fault_case.victim.is_none()) run.fabric().kill(fault_case.victim, fault_case.death);
  run.run();
  for (int number = 0; number < topology.rank_count(); ++number) {
    if (Rank(number) == fault_case.victim) continue;
    std::string wrong = check_end(fault_case, run, Rank(number));
    if (!wrong.empty()) return wrong;
  }
  if (run.run_end() != RunEnd::kIdle) return "it did not come to an end";
  if (!run.fabric().streams_drained()) return "a stream is stuck";
  return run.fabric().unfinished();
}

class CollectiveFaultFuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(CollectiveFaultFuzz, EndsEveryRankSoonAndNamesWhereItBroke) {
  for_each_seed(kSeeds, GetParam(), kShards, [](std::uint64_t seed) {
    const FaultCase fault_case = draw_fault_case(seed);
    const std::string wrong = check(fault_case);
    return wrong.empty() ? wrong : wrong + "; " + describe(fault_case.schedule_case);
  });
}

INSTANTIATE_TEST_SUITE_P(Shards, CollectiveFaultFuzz, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace hoccl::engine
