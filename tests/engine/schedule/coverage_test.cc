#include "engine/schedule/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/compile.h"
#include "tests/engine/schedule/spoiled_plan.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Coverage, FindsBytesDeliveredTwice) {
  EXPECT_THAT(spoiled([](Plan& plan) {
                plan.transfers[1].source_offset = plan.transfers[1].target_offset = 3_MiB;
              }),
              ElementsAre("transfer 1: delivers bytes 3145728 to 4194303 of rank 8 again, after "
                          "transfer 0",
                          "after transfer 1: bytes 7340032 to 8388607 from rank 0 to rank 8 are "
                          "never delivered"));
}

TEST(Coverage, FindsATransferThatIsThereTwice) {
  EXPECT_THAT(spoiled([](Plan& plan) {
                plan.transfers.push_back(plan.transfers[0]);
                plan.transfers[2].id = FlowId(2);
                plan.transfers[2].stage = 1;
              }),
              ElementsAre("transfer 2: delivers bytes 0 to 4194303 of rank 8 again, after "
                          "transfer 0"));
}

TEST(Coverage, FindsGapsBeforeBetweenAndAfter) {
  EXPECT_THAT(spoiled([](Plan& plan) {
                Transfer& first = plan.transfers[0];
                first.source_offset = first.target_offset = 1_MiB;
                first.size = 2_MiB;
                plan.transfers[1].size -= 1_B;
              }),
              ElementsAre("no transfer: bytes 0 to 1048575 from rank 0 to rank 8 are never "
                          "delivered",
                          "after transfer 0: bytes 3145728 to 4194303 from rank 0 to rank 8 are "
                          "never delivered",
                          "after transfer 1: bytes 8388607 to 8388607 from rank 0 to rank 8 are "
                          "never delivered"));
}

TEST(Coverage, FindsAMissingTransferAlsoWhenItWasTheOnlyOne) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers.clear(); }),
              ElementsAre("no transfer: bytes 0 to 8388607 from rank 0 to rank 8 are never "
                          "delivered"));
  Striped striped;
  striped.plan.transfers.clear();
  EXPECT_THAT(find_violations(striped.plan, nullptr, striped.topology, kSlots),
              ElementsAre("no transfer: the 8388608 bytes of the message are never delivered"));
}

TEST(Coverage, FindsBytesTakenFromTheWrongPlace) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].source_offset = 0_B; }),
              ElementsAre("transfer 1: source offset 0: expected 4194304 for the bytes that belong "
                          "at target offset 4194304"));
}

TEST(Coverage, FindsBytesNobodyAskedFor) {
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].size += 1_B; }),
              Contains("transfer 1: delivers bytes 4194304 to 8388608 of rank 8, more than rank 0 "
                       "sends it"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[1].target = Rank(11); }),
              Contains("transfer 1: pattern sendrecv sends nothing from rank 0 to 11"));
  EXPECT_THAT(spoiled([](Plan& plan) { plan.transfers[0].flow_class = FlowClass::kBackground; }),
              ElementsAre("transfer 0: is not of the class of its flow from rank 0 to rank 8"));
}

TEST(Coverage, KnowsThePatternOfALoadedPlanByItsName) {
  Striped striped;
  striped.plan.transfers[1].size -= 1_MiB;
  EXPECT_THAT(find_violations(striped.plan, nullptr, striped.topology, kSlots),
              ElementsAre("after transfer 1: bytes 7340032 to 8388607 from rank 0 to rank 8 are "
                          "never delivered"));
  const Topology topology = cluster(2, 8);
  Plan ring = compile(send_recv_ring(16, 1_MiB), topology, {.chunk_size = 1_MiB});
  EXPECT_THAT(find_violations(ring, nullptr, topology, kSlots), IsEmpty());
  ring.transfers.erase(ring.transfers.begin() + 3);
  EXPECT_THAT(find_violations(ring, nullptr, topology, kSlots),
              ElementsAre("no transfer: bytes 0 to 1048575 from rank 3 to rank 4 are never "
                          "delivered"));
}

TEST(Coverage, KnowsAChainByItsName) {
  const Topology topology = cluster(2, 8);
  Plan chain = compile(pp_chain(16, 1_MiB), topology, {.chunk_size = 1_MiB});
  EXPECT_THAT(find_violations(chain, nullptr, topology, kSlots), IsEmpty());
  chain.transfers.erase(chain.transfers.begin() + 8);
  EXPECT_THAT(find_violations(chain, nullptr, topology, kSlots),
              ElementsAre("no transfer: bytes 0 to 1048575 from rank 8 to rank 9 are never "
                          "delivered"));
}

TEST(Coverage, ChecksAPlanOfAnUnknownPatternForConsistency) {
  Striped striped;
  striped.plan.pattern = "custom";
  EXPECT_THAT(find_violations(striped.plan, nullptr, striped.topology, kSlots), IsEmpty());
  striped.plan.transfers[0].size -= 1_B;
  EXPECT_THAT(find_violations(striped.plan, nullptr, striped.topology, kSlots),
              ElementsAre("after transfer 0: bytes 4194303 to 4194303 from rank 0 to rank 8 are "
                          "never delivered"));
}

}  // namespace
}  // namespace hoccl::engine
