// What the verifier says about transfers that come after others, relays, branches and stage lists.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/plan_examples.h"
#include "tests/engine/schedule/spoiled_plan.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ChainVerifier, PassesTheGoodPlanWithAndWithoutItsPattern) {
  const BroadcastExample example;
  EXPECT_THAT(example.violations(), IsEmpty());
  EXPECT_THAT(find_violations(example.plan, nullptr, example.topology, kSlots), IsEmpty());
}

TEST(ChainVerifier, FindsIdsThatDoNotAscend) {
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[6].id = FlowId(5); }),
              ElementsAre("transfer 5: comes behind transfer 5: expected ascending ids from 0"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[0].id = FlowId(-1); }),
              Contains("transfer -1: comes behind transfer -1: expected ascending ids from 0"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[6].id = FlowId(1'000'000); }),
              IsEmpty());
}

TEST(ChainVerifier, FindsATransferAfterOneThatIsNotThereOrNotEarlier) {
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[1].after = FlowId(1); }),
              ElementsAre("transfer 1: comes after transfer 1: expected an earlier one of the "
                          "plan"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[1].after = FlowId(2); }),
              ElementsAre("transfer 1: comes after transfer 2: expected an earlier one of the "
                          "plan"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) {
                plan.transfers[2].id = FlowId(1'000);
                plan.transfers.erase(plan.transfers.begin() + 3, plan.transfers.end());
                plan.transfers[2].after = FlowId(7);
              }),
              ElementsAre("transfer 1000: comes after transfer 7: expected an earlier one of the "
                          "plan"));
}

TEST(ChainVerifier, FindsATransferAfterOneThatBringsItsSourceNothing) {
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[2].after = FlowId(0); }),
              ElementsAre("transfer 2: comes after transfer 0, which brings rank 2 nothing"));
}

TEST(ChainVerifier, FindsAnotherSizeOrPlaceThanTheOneBeforeDelivers) {
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[2].size = 7_MiB; }),
              ElementsAre("after transfer 2: bytes 7340032 to 8388607 from rank 0 to rank 3 are "
                          "never delivered",
                          "transfer 2: 7340032 bytes after transfer 1 of 8388608: expected as "
                          "many"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[2].source_offset = 1_MiB; }),
              ElementsAre("transfer 2: source offset 1048576: expected 0, where transfer 1 brings "
                          "its bytes"));
}

TEST(ChainVerifier, TracesBytesToTheirOrigin) {
  // Rank 1 would send what is in its own send buffer.
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[1].after = FlowId::none(); }),
              ElementsAre("no transfer: bytes 0 to 8388607 from rank 0 to rank 2 are never "
                          "delivered",
                          "no transfer: bytes 0 to 8388607 from rank 0 to rank 3 are never "
                          "delivered",
                          "transfer 1: pattern broadcast sends nothing from rank 1 to 2",
                          "transfer 2: pattern broadcast sends nothing from rank 1 to 3"));
  // An error at the head of a chain shows in all that comes after it.
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[0].source_offset = 1_B; }),
              ElementsAre("transfer 0: source offset 1: expected 0 for the bytes that belong at "
                          "target offset 0",
                          "transfer 1: passes on bytes from source offset 1 of rank 0: expected 0 "
                          "for those that belong at target offset 0",
                          "transfer 2: passes on bytes from source offset 1 of rank 0: expected 0 "
                          "for those that belong at target offset 0"));
}

TEST(ChainVerifier, FindsAMissingLinkAndAMissingOwnShare) {
  EXPECT_THAT(
      spoiled_broadcast([](Plan& plan) { plan.transfers.erase(plan.transfers.begin() + 5); }),
      ElementsAre("no transfer: bytes 0 to 8388607 from rank 0 to rank 9 are never "
                  "delivered"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers.pop_back(); }),
              ElementsAre("no transfer: bytes 0 to 8388607 from rank 0 to rank 0 are never "
                          "delivered"));
  EXPECT_THAT(
      spoiled_broadcast([](Plan& plan) { plan.transfers.erase(plan.transfers.begin() + 1); }),
      ElementsAre("transfer 2: comes after transfer 1: expected an earlier one of the "
                  "plan"));
}

TEST(ChainVerifier, FindsRelaysThroughTheWrongPlace) {
  const auto via = [](int place) {
    return spoiled_broadcast([&](Plan& plan) { plan.transfers[6].via = PlaceId(place); });
  };
  EXPECT_THAT(via(0), ElementsAre("transfer 6: stage-in copies within GPU 0, that of rank 0",
                                  "transfer 6: deliver copies within GPU 0, that of rank 0"));
  EXPECT_THAT(via(4), ElementsAre("transfer 6: goes via place 4 on node 1: expected node 0, that "
                                  "of rank 0"));
  EXPECT_THAT(via(12), ElementsAre("transfer 6: goes via place 12 in host memory: expected one "
                                   "that holds slots"));
  EXPECT_THAT(via(-1), ElementsAre("transfer 6: relayed via place -1: expected 0 to 14"));
  EXPECT_THAT(via(15), ElementsAre("transfer 6: relayed via place 15: expected 0 to 14"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[0].via = PlaceId(2); }),
              ElementsAre("transfer 0: is not relayed, but goes via place 2: expected none"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[6].target = Rank(4); }),
              Contains("transfer 6: relayed from node 0 to node 1: expected the staged route"));
}

TEST(ChainVerifier, FindsWhatARouteDoesNotHave) {
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[6].send_nic = NicId(1); }),
              ElementsAre("transfer 6: relayed, with send NIC 1: expected none"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[6].more_targets = {Rank(1)}; }),
              ElementsAre("transfer 6: relayed, with 1 more target(s): expected none"));
  EXPECT_THAT(spoiled_broadcast(
                  [](Plan& plan) { plan.transfers[0].branches = plan.transfers[3].branches; }),
              ElementsAre("transfer 0: direct, with 1 branch(es): expected none"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) { plan.transfers[0].stage_list = 0; }),
              ElementsAre("transfer 0: direct, with stage 0 and stage list 0: expected 0 and -1"));
}

TEST(ChainVerifier, FindsBranchesToNodesThatAreServedAlready) {
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) {
                Branch& branch = plan.transfers[3].branches[0];
                branch = {.receive_nic = NicId(6), .target = Rank(5), .stage = 9};
              }),
              Contains("transfer 3: branch to rank 5 on node 1, where it goes already: expected a "
                       "further node"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) {
                Branch& branch = plan.transfers[3].branches[0];
                branch = {.receive_nic = NicId(2), .target = Rank(3), .stage = 9};
              }),
              Contains("transfer 3: branch to rank 3 on node 0, its source's: expected a further "
                       "node"));
}

TEST(ChainVerifier, ChecksBranchesAsTheFirstLeg) {
  const auto branch = [](const std::function<void(Branch&)>& spoil) {
    return spoiled_broadcast([&](Plan& plan) { spoil(plan.transfers[3].branches[0]); });
  };
  EXPECT_THAT(branch([](Branch& b) { b.receive_nic = NicId(10); }),
              ElementsAre("transfer 3: deliver copies within GPU 10, where NIC 10 has its slots "
                          "and rank 10 its data"));
  EXPECT_THAT(branch([](Branch& b) { b.receive_nic = NicId(4); }),
              Contains("transfer 3: receive NIC 4 is on node 1: expected node 2, that of rank 8"));
  EXPECT_THAT(branch([](Branch& b) { b.receive_nic = NicId(12); }),
              ElementsAre("transfer 3: branch to NIC 12: expected 0 to 11"));
  EXPECT_THAT(branch([](Branch& b) { b.target = Rank(12); }),
              ElementsAre("transfer 3: branch to rank 12: expected 0 to 11"));
  EXPECT_THAT(branch([](Branch& b) {
                b.more_targets = {Rank(11), Rank(10)};
              }),
              ElementsAre("transfer 3: further target rank 10 after rank 11: expected ascending "
                          "ranks, each once"));
  EXPECT_THAT(branch([](Branch& b) {
                b.more_targets = {Rank(7), Rank(10), Rank(11)};
              }),
              Contains("transfer 3: further target rank 7 is on node 1: expected node 2, that of "
                       "rank 8"));
  EXPECT_THAT(branch([](Branch& b) { b.stage_list = 2; }),
              ElementsAre("transfer 3: stage list 2: expected -1 to 1"));
  EXPECT_THAT(branch([](Branch& b) { b.stage = 1; }),
              ElementsAre("transfer 3: stage 1 beside stage list 1: expected 0"));
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) {
                plan.transfers[3].branches.resize(kMaxBranches + 1, plan.transfers[3].branches[0]);
              }),
              ElementsAre("transfer 3: 4 branches: expected at most 3"));
}

TEST(ChainVerifier, FindsStageListsThatAreCutOrDoNotAscend) {
  const auto list = [](const std::function<void(StageList&)>& spoil) {
    return spoiled_broadcast([&](Plan& plan) { spoil(plan.stage_lists[0]); });
  };
  EXPECT_THAT(list([](StageList& l) { l.marks.pop_back(); }),
              ElementsAre("plan: stage list 0 ends at 3: expected its total, 8"));
  EXPECT_THAT(list([](StageList& l) { l.marks.clear(); }),
              ElementsAre("plan: stage list 0 ends at 0: expected its total, 8"));
  EXPECT_THAT(list([](StageList& l) { l.marks[1].stage = 0; }),
              ElementsAre("plan: stage list 0 goes on to stage 0 at 8: expected both to ascend, "
                          "stages up to 65535"));
  EXPECT_THAT(list([](StageList& l) { l.marks[0].end = 8; }),
              ElementsAre("plan: stage list 0 goes on to stage 1 at 8: expected both to ascend, "
                          "stages up to 65535"));
  EXPECT_THAT(list([](StageList& l) { l.marks[1].stage = 65536; }),
              Contains(HasSubstr("goes on to stage 65536")));
  EXPECT_THAT(list([](StageList& l) { l.total = 0; }),
              Contains("plan: stage list 0 has a total of 0: expected 1 to 1073741824"));
}

TEST(ChainVerifier, FindsANicWithTwoPartnersInAnyStageOfAList) {
  // The branch's list meets the first leg's in stage 1.
  const auto meet = [](Plan& plan) { plan.stage_lists[1].marks[0].stage = 1; };
  EXPECT_THAT(spoiled_broadcast(meet),
              ElementsAre("transfer 3: NIC 1 sends to NIC 9 in stage 1, and NIC 5 too, for "
                          "transfer 3"));
  EXPECT_THAT(spoiled_broadcast([&](Plan& plan) {
                meet(plan);
                plan.order = Order::kLocal;
              }),
              IsEmpty());
}

TEST(ChainVerifier, LetsTransfersShareAPairInAStage) {
  EXPECT_THAT(spoiled_broadcast([](Plan& plan) {
                // Halves of transfer 3, without what comes after it.
                plan.transfers.erase(plan.transfers.begin() + 4, plan.transfers.begin() + 6);
                Transfer rest = plan.transfers[3];
                rest.id = FlowId(9);
                rest.more_targets.clear();
                plan.transfers[3].size = rest.size = 4_MiB;
                rest.source_offset = rest.target_offset = 4_MiB;
                plan.transfers.push_back(rest);
              }),
              testing::Not(Contains(HasSubstr("too, for"))));
}

/// Two messages of rank 0 of 3x4 that rank 4 and rank 8 pass on to each other's nodes: 0 -> 4 -> 9
/// and 0 -> 8 -> 5.
Plan crossed(int first_pass, int second_pass) {
  Plan plan = BroadcastExample().plan;
  plan.pattern = "custom";
  plan.message_size = 16_MiB;
  plan.transfers.clear();
  const auto add = [&](int source, int target, int send, int receive, int stage, FlowId after,
                       Bytes offset) {
    Transfer transfer;
    transfer.id = FlowId(plan.transfers.size());
    transfer.source = Rank(source);
    transfer.target = Rank(target);
    transfer.source_offset = transfer.target_offset = offset;
    transfer.size = 8_MiB;
    transfer.route = Route::kStaged;
    transfer.send_nic = NicId(send);
    transfer.receive_nic = NicId(receive);
    transfer.stage = stage;
    transfer.after = after;
    plan.transfers.push_back(transfer);
  };
  add(0, 4, 1, 6, 2, FlowId::none(), 0_B);
  add(0, 8, 2, 10, 2, FlowId::none(), 8_MiB);
  // Each uses, on its way out, the NIC that the other comes in through on the other node.
  add(4, 9, 7, 10, first_pass, FlowId(0), 0_B);
  add(8, 5, 11, 6, second_pass, FlowId(1), 8_MiB);
  return plan;
}

TEST(ChainVerifier, FindsStagesThatWaitForEachOtherAroundAChain) {
  const BroadcastExample example;
  const auto violations = [&](const Plan& plan) {
    return find_violations(plan, nullptr, example.topology, kSlots);
  };
  EXPECT_THAT(violations(crossed(3, 3)), IsEmpty());
  EXPECT_THAT(violations(crossed(3, 1)), IsEmpty());
  // NIC 10 takes in stage 1 what only comes when NIC 6 has done its stage 2, and the reverse.
  EXPECT_THAT(violations(crossed(1, 1)),
              ElementsAre("transfer 0: waits for itself, through transfers 3, 1, 2"));
  Plan local = crossed(1, 1);
  local.order = Order::kLocal;
  EXPECT_THAT(violations(local), IsEmpty());
}

/// Registered messages of ranks 0 and 1 of 3x4 that ranks 4 and 8 pass on to each other: 0 -> 4 ->
/// 8 and 1 -> 8 -> 4.
Plan crossed_registered(int stage_passed_on) {
  Plan plan = BroadcastExample().plan;
  plan.pattern = "custom";
  plan.message_size = 16_MiB;
  plan.stage_lists.clear();
  plan.transfers.clear();
  const auto add = [&](int source, int target, int stage, FlowId after, Bytes offset) {
    Transfer transfer;
    transfer.id = FlowId(plan.transfers.size());
    transfer.source = Rank(source);
    transfer.target = Rank(target);
    transfer.source_offset = transfer.target_offset = offset;
    transfer.size = 8_MiB;
    transfer.route = Route::kRegistered;
    transfer.send_nic = NicId(source);
    transfer.receive_nic = NicId(target);
    transfer.stage = stage;
    transfer.after = after;
    plan.transfers.push_back(transfer);
  };
  add(0, 4, 2, FlowId::none(), 0_B);
  add(1, 8, 2, FlowId::none(), 8_MiB);
  add(4, 8, stage_passed_on, FlowId(0), 0_B);
  add(8, 4, stage_passed_on, FlowId(1), 8_MiB);
  return plan;
}

TEST(ChainVerifier, RegisteredTransfersMayPassOnWhatOthersBrought) {
  const BroadcastExample example;
  Plan plan = crossed_registered(3);
  EXPECT_THAT(find_violations(plan, nullptr, example.topology, {}), IsEmpty());
  // And a direct one behind them.
  Transfer direct = plan.transfers.back();
  direct.id = FlowId(9);
  direct.after = FlowId(3);
  direct.source = Rank(4);
  direct.target = Rank(5);
  direct.route = Route::kDirect;
  direct.send_nic = direct.receive_nic = NicId::none();
  direct.stage = 0;
  plan.transfers.push_back(direct);
  EXPECT_THAT(find_violations(plan, nullptr, example.topology, {}), IsEmpty());
  // Rank 4 has its bytes from transfer 3, not 2.
  plan.transfers.back().after = FlowId(2);
  EXPECT_THAT(find_violations(plan, nullptr, example.topology, {}),
              Contains("transfer 9: comes after transfer 2, which brings rank 4 nothing"));
}

TEST(ChainVerifier, FindsStagesOfRegisteredTransfersThatWaitForEachOther) {
  // NIC 8 takes in stage 1 what only comes when NIC 4 has done its stage 2, and the reverse.
  const BroadcastExample example;
  EXPECT_THAT(find_violations(crossed_registered(1), nullptr, example.topology, {}),
              ElementsAre("transfer 0: waits for itself, through transfers 3, 1, 2"));
}

TEST(ChainVerifier, WaitsChunkByChunkNotForWholeTransfers) {
  // Both ways round in stages that alternate: first halves in 2, passed on in 3; second halves in 4
  // and 5. As whole transfers they would wait for each other.
  const BroadcastExample example;
  Plan plan = crossed(3, 3);
  plan.stage_lists = {{.total = 2, .marks = {{2, 1}, {4, 2}}},
                      {.total = 2, .marks = {{3, 1}, {5, 2}}}};
  for (Transfer& transfer : plan.transfers) {
    transfer.stage = 0;
    transfer.stage_list = transfer.after.is_none() ? 0 : 1;
  }
  EXPECT_THAT(find_violations(plan, nullptr, example.topology, kSlots), IsEmpty());
  // The other way round, the second halves come too late for the stage that passes them on.
  plan.stage_lists[1].marks = {{3, 2}};
  EXPECT_THAT(find_violations(plan, nullptr, example.topology, kSlots),
              Contains(HasSubstr("waits for itself")));
}

}  // namespace
}  // namespace hoccl::engine
