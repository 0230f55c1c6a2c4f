#include "engine/schedule/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/compile.h"
#include "tests/engine/schedule/spoiled_plan.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Verifier, PassesTheGoodPlanWithAndWithoutItsPattern) {
  const Striped striped;
  EXPECT_THAT(striped.violations(), IsEmpty());
  EXPECT_THAT(find_violations(striped.plan, nullptr, striped.topology, kSlots), IsEmpty());
  EXPECT_NO_THROW(verify(striped.plan, &striped.pattern, striped.topology, kSlots));
}

TEST(Verifier, FindsAnotherPatternOrSizeThanAskedFor) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.pattern = "sendrecv-ring"; }),
              ElementsAre("plan: is of pattern 'sendrecv-ring': expected 'sendrecv'"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.message_size = 9_MiB; }),
              ElementsAre("plan: message of 9437184 bytes: expected 8388608"));
}

TEST(Verifier, FindsValuesOutOfRangeAndThenLooksNoFurther) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].source = Rank(16); }),
              ElementsAre("transfer 0: source rank 16: expected 0 to 15"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].target = Rank(-1); }),
              ElementsAre("transfer 1: target rank -1: expected 0 to 15"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].send_nic = NicId(16); }),
              ElementsAre("transfer 1: send NIC 16: expected 0 to 15"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].receive_nic = NicId::none(); }),
              ElementsAre("transfer 1: receive NIC -1: expected 0 to 15"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].size = 0_B; }),
              ElementsAre("transfer 0: size 0: expected 1 to 1125899906842624"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].source_offset = Bytes(-1); }),
              ElementsAre("transfer 0: source offset -1: expected 0 to 1125899906842624"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].target_offset = Bytes(-1); }),
              ElementsAre("transfer 0: target offset -1: expected 0 to 1125899906842624"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].stage = -1; }),
              ElementsAre("transfer 1: stage -1: expected 0 to 65535"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.chunk_size = 0_B; }),
              ElementsAre("plan: chunk of 0 bytes: expected 1 to 4294967295"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.message_size = Bytes(-1); }),
              ElementsAre("plan: message of -1 bytes: expected 0 to 1125899906842624"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.rank_count = 8; }),
              ElementsAre("plan: has 8 ranks: expected 16, as on topology 'test-2x8'"));
  EXPECT_THAT(spoiled([](Plan& plan) {
                plan.chunk_size = 1_B;
                plan.transfers[0].size = 8_GiB;
              }),
              ElementsAre("transfer 0: 8589934592 chunks: expected at most 2147483647"));
}

TEST(Verifier, FindsADirectTransferThatNamesANic) {
  EXPECT_THAT(spoiled([](Plan& plan) {
                plan.transfers[0].route = Route::kDirect;
                plan.transfers[0].receive_nic = NicId::none();
              }),
              ElementsAre("transfer 0: direct, with send NIC 1: expected none"));
}

TEST(Verifier, FindsLegsWithinOneGpu) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].send_nic = NicId(0); }),
              ElementsAre("transfer 0: stage-in copies within GPU 0, where NIC 0 has its slots and "
                          "rank 0 its data"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].receive_nic = NicId(8); }),
              ElementsAre("transfer 1: deliver copies within GPU 8, where NIC 8 has its slots and "
                          "rank 8 its data"));
  EXPECT_THAT(spoiled([](Plan& plan) {
                for (Transfer& transfer : plan.transfers) {
                  transfer.route = Route::kDirect;
                  transfer.send_nic = transfer.receive_nic = NicId::none();
                  transfer.target = Rank(0);
                }
              }),
              Contains("transfer 0: copies within GPU 0, from rank 0 to rank 0"));
}

TEST(Verifier, AllowsTheOwnNicWhereSlotsLieInHostMemory) {
  const Topology topology = host_staged_cluster(2, 8);
  const Pattern pattern = send_recv(16, Rank(0), Rank(8), 8_MiB);
  const Plan plan = compile(pattern, topology, {.chunk_size = 1_MiB});
  ASSERT_EQ(plan.transfers[0].send_nic, NicId(0));
  EXPECT_THAT(find_violations(plan, &pattern, topology, kSlots), IsEmpty());
  // The same plan on a cluster that stages in peers.
  EXPECT_EQ(find_violations(plan, &pattern, cluster(2, 8), kSlots).size(), 2U);
}

TEST(Verifier, FindsNicsOnTheWrongNode) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].send_nic = NicId(10); }),
              ElementsAre("transfer 0: send NIC 10 is on node 1: expected node 0, that of rank 0"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].receive_nic = NicId(3); }),
              ElementsAre("transfer 0: receive NIC 3 is on node 0: expected node 1, that of rank "
                          "8"));
}

TEST(Verifier, FindsRoutesThatDoNotSuitTheNodes) {
  EXPECT_THAT(spoiled([](Plan& plan) {
                Transfer& first = plan.transfers[0];
                first.route = Route::kDirect;
                first.send_nic = first.receive_nic = NicId::none();
              }),
              ElementsAre("transfer 0: direct from node 0 to node 1: expected the staged route"));
  const Topology topology = cluster(2, 8);
  const Pattern pattern = send_recv(16, Rank(0), Rank(4), 1_MiB);
  Plan plan = compile(pattern, topology, {.chunk_size = 1_MiB});
  plan.transfers[0].route = Route::kStaged;
  plan.transfers[0].send_nic = NicId(1);
  plan.transfers[0].receive_nic = NicId(5);
  EXPECT_THAT(find_violations(plan, &pattern, topology, kSlots),
              ElementsAre("transfer 0: staged inside node 0: expected the direct route"));
}

TEST(Verifier, FindsANicTwiceInAStage) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].send_nic = NicId(1); }),
              ElementsAre("transfer 1: NIC 1 sends to NIC 10 in stage 0, and NIC 9 too, for "
                          "transfer 0"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].receive_nic = NicId(9); }),
              ElementsAre("transfer 1: NIC 9 receives from NIC 2 in stage 0, and NIC 1 too, for "
                          "transfer 0"));
  EXPECT_THAT(spoiled([](Plan& plan) {
                plan.transfers[1].receive_nic = NicId(9);
                plan.transfers[1].stage = 1;
              }),
              IsEmpty());
}

TEST(Verifier, FindsChunksLargerThanASlotAndMissingSlots) {
  Striped striped;
  striped.plan.transfers.resize(1);
  striped.plan.transfers[0].size = 8_MiB;
  EXPECT_THAT(striped.violations({.slot_size = 1_MiB - 1_B, .send_slots = 1, .receive_slots = 1}),
              ElementsAre("transfer 0: chunk of 1048576 bytes: expected at most 1048575, the slot "
                          "size"));
  EXPECT_THAT(striped.violations({.slot_size = 1_MiB, .send_slots = 0, .receive_slots = 1}),
              ElementsAre("transfer 0: 0 send slots at place 1: expected at least 1"));
  EXPECT_THAT(striped.violations({.slot_size = 1_MiB, .send_slots = 1, .receive_slots = 0}),
              ElementsAre("transfer 0: 0 receive slots at place 9: expected at least 1"));
}

TEST(Verifier, ADirectTransferNeedsNoSlot) {
  const Topology topology = cluster(1, 2);
  const Pattern pattern = send_recv(2, Rank(0), Rank(1), 1_MiB);
  const Plan plan = compile(pattern, topology, {.chunk_size = 1_MiB});
  EXPECT_THAT(find_violations(plan, &pattern, topology, {}), IsEmpty());
}

/// Violations of a registered transfer from rank 0 to rank 8 of 2x8, after `spoil`.
std::vector<std::string> spoiled_registered(const std::function<void(Transfer&)>& spoil,
                                            const Topology& topology = cluster(2, 8)) {
  const Pattern pattern = send_recv(16, Rank(0), Rank(8), 8_MiB);
  Plan plan =
      compile(pattern, cluster(2, 8), {.chunk_size = 1_MiB, .forwarding = Forwarding::kOwnNic});
  spoil(plan.transfers.front());
  return find_violations(plan, &pattern, topology, {});
}

TEST(Verifier, ARegisteredTransferNeedsNoSlot) {
  EXPECT_THAT(spoiled_registered([](Transfer&) {}), IsEmpty());
  EXPECT_THAT(spoiled_registered([](Transfer&) {}, host_staged_cluster(2, 8)), IsEmpty());
}

TEST(Verifier, FindsARegisteredTransferOverNicsThatAreNotNextToItsEnds) {
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) { transfer.send_nic = NicId(1); }),
              ElementsAre("transfer 0: send NIC 1 is next to GPU 1: expected one next to GPU 0, "
                          "that of rank 0"));
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) { transfer.receive_nic = NicId(0); }),
              ElementsAre("transfer 0: receive NIC 0 is next to GPU 0: expected one next to GPU 8, "
                          "that of rank 8"));
}

TEST(Verifier, FindsARegisteredTransferInsideANodeOrOverAMapWire) {
  const Topology topology = cluster(2, 8);
  const Pattern pattern = send_recv(16, Rank(0), Rank(4), 1_MiB);
  Plan plan = compile(pattern, topology, {.chunk_size = 1_MiB});
  plan.transfers[0].route = Route::kRegistered;
  plan.transfers[0].send_nic = NicId(0);
  plan.transfers[0].receive_nic = NicId(4);
  EXPECT_THAT(find_violations(plan, &pattern, topology, kSlots),
              ElementsAre("transfer 0: registered inside node 0: expected the direct route"));
  const Topology mapped = preset_topology("h200-1x1");
  const Pattern between = send_recv(2, Rank(0), Rank(1), 1_MiB);
  Plan over_map = compile(between, mapped, {.chunk_size = 1_MiB});
  over_map.transfers[0].route = Route::kRegistered;
  EXPECT_THAT(find_violations(over_map, &between, mapped, kSlots),
              ElementsAre("transfer 0: registered over a map wire, which moves no bytes between "
                          "user buffers: expected the staged route"));
}

TEST(Verifier, FindsWhatARegisteredTransferCannotHave) {
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) { transfer.more_targets = {Rank(9)}; }),
              ElementsAre("transfer 0: registered, with 1 more target(s): expected none"));
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) {
                transfer.branches = {{.receive_nic = NicId(9), .target = Rank(9)}};
              }),
              ElementsAre("transfer 0: registered, with 1 branch(es): expected none"));
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) { transfer.via = PlaceId(1); }),
              ElementsAre("transfer 0: is not relayed, but goes via place 1: expected none"));
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) { transfer.stage = kMaxStage + 1; }),
              ElementsAre("transfer 0: stage 65536: expected 0 to 65535"));
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) { transfer.stage_list = 0; }),
              ElementsAre("transfer 0: stage list 0: expected -1 to -1"));
  EXPECT_THAT(spoiled_registered([](Transfer& transfer) { transfer.send_nic = NicId::none(); }),
              ElementsAre("transfer 0: send NIC -1: expected 0 to 15"));
}

TEST(Verifier, FindsANicTwiceInAStageOfRegisteredTransfers) {
  const Topology topology = cluster(3, 2);
  const Pattern pattern = make_pattern({.name = "alltoall", .size = 6_MiB, .in_place = true}, 6);
  Plan plan = compile(pattern, topology, {.chunk_size = 1_MiB, .forwarding = Forwarding::kOwnNic});
  ASSERT_THAT(find_violations(plan, &pattern, topology, kSlots), IsEmpty());
  for (Transfer& transfer : plan.transfers) {
    transfer.stage = 0;
    transfer.stage_list = -1;
  }
  plan.stage_lists.clear();
  EXPECT_THAT(find_violations(plan, &pattern, topology, kSlots),
              Contains(HasSubstr("sends to NIC")));
}

TEST(Verifier, FindsAPlanThatGrowsWithItsSize) {
  EXPECT_THAT(spoiled([](Plan& plan) {
                plan.transfers[1].send_nic = plan.transfers[0].send_nic;
                plan.transfers[1].receive_nic = plan.transfers[0].receive_nic;
              }),
              Contains("transfer 1: continues transfer 0 on the same path: expected one transfer, "
                       "whatever the size"));
}

TEST(Verifier, ThrowsOneLineWithTheFirstViolationAndTheNumberOfOthers) {
  Striped striped;
  striped.plan.transfers[0].send_nic = NicId(10);
  striped.plan.transfers[1].send_nic = NicId(11);
  EXPECT_EQ(refusal([&] { verify(striped.plan, &striped.pattern, striped.topology, kSlots); }),
            "plan of sendrecv for 'test-2x8' is not valid: transfer 0: send NIC 10 is on node 1: "
            "expected node 0, that of rank 0 (and 1 more)");
}

}  // namespace
}  // namespace hoccl::engine
