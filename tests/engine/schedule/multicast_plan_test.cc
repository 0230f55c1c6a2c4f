// Transfers with several targets, in every part of the schedule that looks at transfers.

#include "tests/support/multicast_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/describe.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/port_loads.h"
#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr SlotSupply kEnoughSlots{.slot_size = 1_MiB, .send_slots = 1, .receive_slots = 1};

/// Rank 0 to ranks 4, 6 and 7 of 2x4, 8 MiB over NICs 1 -> 5.
Plan good_plan(const Topology& topology) {
  return multicast_plan(topology, Rank(0), {Rank(4), Rank(6), Rank(7)}, 8_MiB,
                        {.chunk_size = 1_MiB, .rails = 1});
}

std::vector<std::string> violations(const std::function<void(Plan&)>& spoil) {
  const Topology topology = cluster(2, 4);
  Plan plan = good_plan(topology);
  spoil(plan);
  return find_violations(plan, nullptr, topology, kEnoughSlots);
}

std::vector<std::string> with_targets(std::vector<Rank> further) {
  return violations([&](Plan& plan) { plan.transfers[0].more_targets = std::move(further); });
}

TEST(MulticastVerifier, PassesAGoodPlan) {
  EXPECT_THAT(violations([](Plan&) {}), IsEmpty());
}

TEST(MulticastVerifier, FindsFurtherTargetsOutOfRangeOrOrderOrNamedTwice) {
  EXPECT_THAT(with_targets({Rank(8)}),
              ElementsAre("transfer 0: further target rank 8: expected 0 to 7"));
  EXPECT_THAT(with_targets({Rank(7), Rank(6)}),
              ElementsAre("transfer 0: further target rank 6 after rank 7: expected ascending "
                          "ranks, each once"));
  EXPECT_THAT(with_targets({Rank(6), Rank(6)}),
              ElementsAre("transfer 0: further target rank 6 after rank 6: expected ascending "
                          "ranks, each once"));
  EXPECT_THAT(with_targets({Rank(4)}),
              ElementsAre("transfer 0: further target rank 4: expected another rank than the "
                          "target"));
  EXPECT_THAT(with_targets({Rank(0), Rank(6)}),
              ElementsAre("transfer 0: further target rank 0: expected another rank than the "
                          "source"));
}

TEST(MulticastVerifier, FindsTargetsOnDifferentNodes) {
  EXPECT_THAT(with_targets({Rank(2), Rank(6)}),
              ElementsAre("transfer 0: further target rank 2 is on node 0: expected node 1, that "
                          "of rank 4"));
}

TEST(MulticastVerifier, FindsATargetOnTheGpuThatHoldsTheSlots) {
  EXPECT_THAT(with_targets({Rank(5), Rank(6)}),
              ElementsAre("transfer 0: deliver copies within GPU 5, where NIC 5 has its slots and "
                          "rank 5 its data"));
}

TEST(MulticastVerifier, FindsADirectTransferWithSeveralTargets) {
  EXPECT_THAT(violations([](Plan& plan) {
                Transfer& transfer = plan.transfers[0];
                transfer.route = Route::kDirect;
                transfer.send_nic = transfer.receive_nic = NicId::none();
              }),
              ElementsAre("transfer 0: direct, with 2 more target(s): expected none"));
}

TEST(MulticastVerifier, FindsBytesThatOneOfTheTargetsGetsTwice) {
  EXPECT_THAT(violations([](Plan& plan) {
                plan.transfers.push_back(plan.transfers[0]);
                plan.transfers[1].id = FlowId(1);
                plan.transfers[1].target = Rank(6);
                plan.transfers[1].more_targets.clear();
                plan.transfers[1].stage = 1;
              }),
              Contains("transfer 1: delivers bytes 0 to 8388607 of rank 6 again, after transfer "
                       "0"));
}

TEST(MulticastVerifier, FindsATargetThatThePatternDoesNotSendTo) {
  const Topology topology = cluster(2, 4);
  const Pattern pattern = send_recv(8, Rank(0), Rank(4), 8_MiB);
  Plan plan = good_plan(topology);
  plan.pattern = pattern.name;
  EXPECT_THAT(find_violations(plan, &pattern, topology, kEnoughSlots),
              ElementsAre("transfer 0: pattern sendrecv sends nothing from rank 0 to 6",
                          "transfer 0: pattern sendrecv sends nothing from rank 0 to 7"));
}

TEST(MulticastVerifier, ComparesPathsWithAllTheirTargets) {
  const auto halves = [](std::vector<Rank> second) {
    return violations([&](Plan& plan) {
      plan.transfers.push_back(plan.transfers[0]);
      Transfer& rest = plan.transfers[1];
      rest.id = FlowId(1);
      plan.transfers[0].size = rest.size = 4_MiB;
      rest.source_offset = rest.target_offset = 4_MiB;
      rest.stage = 0;
      rest.more_targets = std::move(second);
    });
  };
  constexpr const char* kGrows =
      "transfer 1: continues transfer 0 on the same path: expected one transfer, whatever the size";
  EXPECT_THAT(halves({Rank(6), Rank(7)}), Contains(kGrows));
  EXPECT_THAT(halves({Rank(6)}), Not(Contains(kGrows)));
}

TEST(MulticastLoads, CountTheWireOnceAndEveryTargetsDeliver) {
  const Topology topology = cluster(2, 4);
  const PortLoads loads = loads_of(good_plan(topology), topology);
  const Bytes size = 8_MiB;
  EXPECT_EQ(loads.nic_out[1], size);
  EXPECT_EQ(loads.nic_in[5], size);
  EXPECT_EQ(loads.nvlink_out, (std::vector<Bytes>{size, 0_B, 0_B, 0_B, 0_B, size * 3, 0_B, 0_B}));
  EXPECT_EQ(loads.nvlink_in, (std::vector<Bytes>{0_B, size, 0_B, 0_B, size, 0_B, size, size}));
  for (const std::size_t executor : {0U, 4U, 6U, 7U}) {
    EXPECT_EQ(loads.copied[executor][0], size) << executor;
  }
  EXPECT_EQ(loads.copied[5][0], 0_B);
}

TEST(MulticastLoads, BindByNvlinkOutOfTheSlotsGpuWhereTargetsAreMany) {
  TopologyDescription description = cluster_description(2, 8);
  description.nvlink = {100_GBps, 100_GBps};
  const Topology topology(description);
  // Six pulls leave GPU 9 over 100 GB/s, while the wire needs one crossing at 50 GB/s.
  const Plan plan =
      multicast_plan(topology, Rank(0), {Rank(8), Rank(10), Rank(11), Rank(12), Rank(13), Rank(14)},
                     8_MiB, {.chunk_size = 1_MiB, .rails = 1});
  const Bound bound = plan_bound(plan, topology, nominal_rates(topology));
  EXPECT_EQ(bound.port, "NVLink out of GPU 9");
  EXPECT_DOUBLE_EQ(bound.time.count(), (8_MiB * 6 / 100_GBps).count());
}

TEST(MulticastLoads, CrossPcieOncePerTargetFromHostMemory) {
  const Topology topology = host_staged_cluster(2, 4);
  const PortLoads loads = loads_of(good_plan(topology), topology);
  for (const std::size_t target : {4U, 6U, 7U}) EXPECT_EQ(loads.pcie_in[target], 8_MiB) << target;
  EXPECT_EQ(loads.nvlink_out, std::vector<Bytes>(8, 0_B));
}

TEST(MulticastJson, KeepsTheFurtherTargetsAndOnlyWhereThereAreSome) {
  const Topology topology = cluster(2, 4);
  Plan plan = good_plan(topology);
  const std::string text = plan_to_json(plan);
  EXPECT_THAT(text, HasSubstr(R"("stage": 0, "more_targets": [6, 7]})"));
  EXPECT_EQ(plan_from_json(text, "p.json"), plan);
  plan.transfers[0].more_targets.clear();
  EXPECT_THAT(plan_to_json(plan), Not(HasSubstr("more_targets")));
}

TEST(MulticastJson, RefusesMalformedFurtherTargets) {
  const std::string text = plan_to_json(good_plan(cluster(2, 4)));
  const auto refused = [&](const std::string& value) {
    std::string bad = text;
    const std::string good = "[6, 7]";
    bad.replace(bad.find(good), good.size(), value);
    return refusal([&] { plan_from_json(bad, "p.json"); });
  };
  const std::string key = "p.json: key 'transfers[0].more_targets' = ";
  const std::string numbers = ": expected an array of whole numbers from 0 to 7";
  EXPECT_EQ(refused("[]"), key + "[...]: expected at least one rank");
  EXPECT_EQ(refused("6"), key + "6" + numbers);
  for (const char* bad : {"[6, 8]", "[-1]", "[6.5]", "[6, \"7\"]"}) {
    EXPECT_EQ(refused(bad), key + "[...]" + numbers) << bad;
  }
  std::string direct = text;
  direct.replace(direct.find("staged"), 6, "direct");
  EXPECT_THAT(refusal([&] { plan_from_json(direct, "p.json"); }), HasSubstr("no such key"));
}

TEST(MulticastDescribe, ShowsAllTargets) {
  const Topology topology = cluster(2, 4);
  EXPECT_THAT(describe(good_plan(topology), topology), HasSubstr("4+6+7"));
}

}  // namespace
}  // namespace hoccl::engine
