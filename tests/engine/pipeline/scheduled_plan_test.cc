// Transfers that depend on others, branch to several nodes or are relayed inside one, on the real
// pipeline: plans made by hand, so that a test says exactly which legs there are.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/topology/topology.h"
#include "tests/support/pattern_run.h"

namespace hoccl::engine {
namespace {

constexpr Bytes kChunk(4096);
constexpr Bytes kSize(kChunk.count() * 9 + 100);

Pattern pattern_of(int ranks, std::vector<Flow> flows) {
  Pattern pattern;
  pattern.name = "by hand";
  pattern.rank_count = ranks;
  pattern.message_size = kSize;
  pattern.flows = std::move(flows);
  return pattern;
}

Flow flow(int source, int target, std::vector<Rank> more = {}) {
  return {.source = Rank(source),
          .target = Rank(target),
          .source_offset = Bytes(0),
          .target_offset = Bytes(0),
          .size = kSize,
          .more_targets = std::move(more)};
}

Transfer transfer(int id, int source, int target) {
  Transfer made;
  made.id = FlowId(id);
  made.source = Rank(source);
  made.target = Rank(target);
  made.size = kSize;
  return made;
}

Transfer staged(int id, int source, int target, int send_nic, int receive_nic) {
  Transfer made = transfer(id, source, target);
  made.route = Route::kStaged;
  made.send_nic = NicId(send_nic);
  made.receive_nic = NicId(receive_nic);
  return made;
}

Transfer after(int before, Transfer made) {
  made.after = FlowId(before);
  return made;
}

std::shared_ptr<Plan> plan_of(const Topology& topology, std::vector<Transfer> transfers) {
  auto plan = std::make_shared<Plan>();
  plan->pattern = "by hand";
  plan->topology = topology.name();
  plan->rank_count = topology.rank_count();
  plan->message_size = kSize;
  plan->chunk_size = kChunk;
  plan->transfers = std::move(transfers);
  return plan;
}

struct Setting {
  std::string name;
  Timing timing = Timing::kAdversarial;
  int slots = 1;
  bool barrier = false;
  bool overlap = true;
};

class ScheduledPlan : public testing::TestWithParam<Setting> {
 protected:
  static IdealOptions fabric_options() {
    IdealOptions options;
    options.timing = GetParam().timing;
    options.slot_size = kChunk;
    options.send_slots = GetParam().slots;
    options.receive_slots = GetParam().slots;
    options.time_limit = Seconds(20.0);
    return options;
  }
  static PipelineOptions pipeline_options() {
    PipelineOptions options;
    options.barrier = GetParam().barrier;
    options.overlap = GetParam().overlap;
    return options;
  }

  void expect_right(const Topology& topology, const Pattern& pattern,
                    const std::shared_ptr<Plan>& plan) {
    PatternRun run(topology, fabric_options(), pipeline_options());
    run.enqueue(pattern, {plan});
    run.run();
    EXPECT_EQ(run.wrong(), "");
  }
};

TEST_P(ScheduledPlan, PassesChunksOnAlongANode) {
  const Topology topology = resolve_topology("h800-1x4");
  expect_right(topology, pattern_of(4, {flow(0, 1, {Rank(2), Rank(3)})}),
               plan_of(topology, {transfer(0, 0, 1), after(0, transfer(1, 1, 2)),
                                  after(1, transfer(2, 2, 3))}));
}

TEST_P(ScheduledPlan, PassesChunksOnAcrossNodesAndBack) {
  const Topology topology = resolve_topology("h800-2x4");
  // 0 -> 4 over NIC 1 -> 5, 4 -> 6 inside the node, 6 -> 3 over NIC 7 -> 2.
  expect_right(topology, pattern_of(8, {flow(0, 3, {Rank(4), Rank(6)})}),
               plan_of(topology, {staged(0, 0, 4, 1, 5), after(0, transfer(1, 4, 6)), after(1, [] {
                                    Transfer last = staged(2, 6, 3, 7, 2);
                                    last.stage = 1;
                                    return last;
                                  }())}));
}

TEST_P(ScheduledPlan, BringsTheStagerItsDataFromAPeer) {
  const Topology topology = resolve_topology("h800-2x4");
  Transfer multicast = staged(0, 0, 4, 1, 5);
  multicast.more_targets = {Rank(6), Rank(7)};
  expect_right(topology, pattern_of(8, {flow(0, 4, {Rank(5), Rank(6), Rank(7)})}),
               plan_of(topology, {multicast, after(0, transfer(1, 6, 5))}));
}

TEST_P(ScheduledPlan, StagesOnceForThreeFurtherNodes) {
  const Topology topology = resolve_topology("h800-4x2");
  // GPU 1 stages for rank 0; on every other node the second GPU receives for the first.
  Transfer all = staged(0, 0, 2, 1, 3);
  all.branches = {{NicId(5), Rank(4), {}, 1}, {NicId(7), Rank(6), {}, 2}};
  Transfer back = staged(1, 2, 0, 3, 1);
  back.branches = {{NicId(5), Rank(4), {}, 2}, {NicId(7), Rank(6), {}, 1}};
  back.target_offset = kSize;
  Transfer third = staged(2, 6, 0, 7, 1);
  third.branches = {{NicId(3), Rank(2), {}, 1}, {NicId(5), Rank(4), {}, 0}};
  third.target_offset = kSize * 2;
  const auto shifted = [](Flow made, int times) {
    made.target_offset = kSize * times;
    return made;
  };
  expect_right(
      topology,
      pattern_of(8, {flow(0, 2, {Rank(4), Rank(6)}), shifted(flow(2, 0, {Rank(4), Rank(6)}), 1),
                     shifted(flow(6, 0, {Rank(2), Rank(4)}), 2)}),
      plan_of(topology, {all, back, third}));
}

TEST_P(ScheduledPlan, RelaysARanksOwnShareThroughItsPeer) {
  const Topology topology = resolve_topology("h800-1x2");
  Transfer first = transfer(0, 0, 0);
  first.route = Route::kRelayed;
  first.via = PlaceId(1);
  Transfer second = transfer(1, 1, 1);
  second.route = Route::kRelayed;
  second.via = PlaceId(0);
  expect_right(topology, pattern_of(2, {flow(0, 0), flow(1, 1)}),
               plan_of(topology, {first, second}));
}

TEST_P(ScheduledPlan, RelaysBetweenTwoRanksOfANode) {
  const Topology topology = resolve_topology("h800-1x4");
  Transfer relayed = transfer(0, 0, 3);
  relayed.route = Route::kRelayed;
  relayed.via = PlaceId(2);
  expect_right(topology, pattern_of(4, {flow(0, 3)}), plan_of(topology, {relayed}));
}

TEST_P(ScheduledPlan, SendsTheChunksOfAFlowInTheirStages) {
  const Topology topology = resolve_topology("h800-2x2");
  auto plan = plan_of(topology, {staged(0, 0, 2, 1, 3), staged(1, 1, 3, 0, 2)});
  plan->stage_lists = {{.total = 10, .marks = {{0, 3}, {2, 10}}}, {10, {{1, 10}}}};
  plan->transfers[0].stage_list = 0;
  plan->transfers[1].stage_list = 1;
  expect_right(topology, pattern_of(4, {flow(0, 2), flow(1, 3)}), plan);
}

std::string setting_name(const testing::TestParamInfo<Setting>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    All, ScheduledPlan,
    testing::Values(Setting{"OneSlot"}, Setting{"ThreeSlots", Timing::kAdversarial, 3},
                    Setting{"SixteenSlots", Timing::kClosedForm, 16},
                    Setting{"Barrier", Timing::kAdversarial, 2, true},
                    Setting{"NoOverlap", Timing::kAdversarial, 4, false, false},
                    Setting{"BarrierNoOverlap", Timing::kAdversarial, 1, true, false}),
    setting_name);

}  // namespace
}  // namespace hoccl::engine
