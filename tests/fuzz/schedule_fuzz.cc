// Random patterns compiled for random clusters with random options: what comes out is a plan that
// the verifier accepts, that every node can compute its part of, and that runs to the end with
// every byte in its place, whatever the fabric does; or it is refused for a reason that is there.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "engine/base/config_error.h"
#include "tests/fuzz/refusals.h"
#include "tests/fuzz/schedule_check.h"
#include "tests/fuzz/schedule_mutation.h"
#include "tests/fuzz/seeds.h"

namespace hoccl::engine {
namespace {

constexpr std::uint64_t kSeeds = 2000;
constexpr std::uint64_t kShards = 4;
/// Every so many cases are spoiled, too.
constexpr std::uint64_t kSpoiledEvery = 4;

/// What was drawn: a fuzzer that no longer meets something proves nothing about it.
struct Tally {
  int cases = 0;
  int refused = 0;
  int branches = 0;    ///< plans with several nodes per stage-in
  int passed_on = 0;   ///< with transfers of what others brought
  int over_again = 0;  ///< of them: between nodes
  int relayed = 0;     ///< through a third place inside a node
  int registered = 0;  ///< from user buffer to user buffer
  int lists = 0;       ///< with flows in several stages
  int no_access = 0;   ///< of cases in which buffers cannot be written into
  int spoiled = 0;     ///< that the verifier was to refuse
};

void count(const Plan& plan, Tally& tally) {
  const auto any = [&](auto holds) { return std::ranges::any_of(plan.transfers, holds) ? 1 : 0; };
  tally.branches += any([](const Transfer& transfer) { return !transfer.branches.empty(); });
  tally.passed_on += any([](const Transfer& transfer) { return !transfer.after.is_none(); });
  tally.over_again += any(
      [](const Transfer& transfer) { return !transfer.after.is_none() && crosses_wire(transfer); });
  tally.relayed += any([](const Transfer& transfer) { return transfer.route == Route::kRelayed; });
  tally.registered +=
      any([](const Transfer& transfer) { return transfer.route == Route::kRegistered; });
  tally.lists += any([](const Transfer& transfer) { return transfer.stage_list >= 0; });
}

std::string check(std::uint64_t seed, Tally& tally) {
  const ScheduleCase schedule_case = draw_schedule_case(seed);
  ++tally.cases;
  Plan plan;
  try {
    plan = compile(schedule_case.pattern, schedule_case.topology, schedule_case.compile);
  } catch (const ConfigError& error) {
    ++tally.refused;
    return check_refusal(schedule_case, error.what());
  }
  count(plan, tally);
  tally.no_access += refuses(schedule_case.fabric.faults) ? 1 : 0;
  for (const auto check_one : {check_violations, check_total, check_node_plans, check_run}) {
    std::string wrong = check_one(schedule_case, plan);
    if (!wrong.empty()) return wrong;
  }
  if (seed / kShards % kSpoiledEvery != 0) return "";
  Random random(seed ^ 0x5b01);
  return check_mutations(random, schedule_case, plan, tally.spoiled);
}

class ScheduleFuzz : public testing::TestWithParam<std::uint64_t> {};

TEST_P(ScheduleFuzz, CompilesPlansThatHoldAndRun) {
  Tally tally;
  for_each_seed(kSeeds, GetParam(), kShards, [&](std::uint64_t seed) {
    std::string wrong;
    try {
      wrong = check(seed, tally);
    } catch (const ConfigError& error) {
      wrong = std::string("a part is refused: ") + error.what();
    }
    return wrong.empty() ? wrong : wrong + "; " + describe(draw_schedule_case(seed));
  });
  std::printf(
      "%d cases, %d refused; %d branch, %d pass on, %d of them between nodes, %d relay, %d are "
      "registered, %d have stage lists, %d with buffers refused; %d spoiled\n",
      tally.cases, tally.refused, tally.branches, tally.passed_on, tally.over_again, tally.relayed,
      tally.registered, tally.lists, tally.no_access, tally.spoiled);
  // Or little would be tested.
  EXPECT_LE(tally.refused, std::max(1, tally.cases / 5));
}

INSTANTIATE_TEST_SUITE_P(Shards, ScheduleFuzz, testing::Range(std::uint64_t{0}, kShards));

}  // namespace
}  // namespace hoccl::engine
