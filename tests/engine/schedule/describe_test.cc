#include "engine/schedule/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/compile.h"
#include "tests/engine/schedule/plan_examples.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::Not;

Plan plan_of(const Pattern& pattern, const Topology& topology, int rails) {
  return compile(pattern, topology,
                 {.chunk_size = 2_MiB, .rails = rails, .forwarding = Forwarding::kSymmetric});
}

TEST(Describe, ShowsTransfersStagesLoadsAndBounds) {
  const Topology topology = cluster(2, 4);
  const Plan plan = plan_of(send_recv(8, Rank(0), Rank(4), 8_MiB), topology, 2);
  Rates calibrated = nominal_rates(topology);
  calibrated.nic = BytesPerSecond(48e9);
  // 2 chunks on each of 2 rails: 4 MiB over 50 GB/s = 83.886 us and 8 MiB over that time = 100
  // GB/s; at 48 GB/s 87.381 us and 96 GB/s.
  EXPECT_EQ(describe(plan, topology, calibrated),
            R"(sendrecv of 8MiB on test-2x4 with 8 ranks: 2 transfers, 1 stages, 4 chunks of 2MiB
order critical: stages of 2 chunk times in all, lower bound 2 (NIC 1, sending)

transfer  stage   route  source  target  send NIC  receive NIC  offset  size  chunks
       0      0  staged       0       4         1            5      0B  4MiB       2
       1      0  staged       0       4         2            6    4MiB  4MiB       2

stage  chunks  NIC pairs  node to node
    0       2          2           0>1

rail  node  NIC  next to GPU  sends  receives
   1     0    1            1   4MiB         -
   1     1    5            5      -      4MiB
   2     0    2            2   4MiB         -
   2     1    6            6      -      4MiB

GPU  node  NVLink out  NVLink in  NICs out  NICs in
  0     0        8MiB          -         -        -
  1     0           -       4MiB      4MiB        -
  2     0           -       4MiB      4MiB        -
  4     1           -       8MiB         -        -
  5     1        4MiB          -         -     4MiB
  6     1        4MiB          -         -     4MiB

copy engines of GPU  peer  D2H  H2D  PCIe out  PCIe in
                  0  8MiB    -    -         -        -
                  4  8MiB    -    -         -        -

bound (nominal): 83.886 us, 100.00 GB/s algbw, by NIC 1, sending
bound (calibrated): 87.381 us, 96.00 GB/s algbw, by NIC 1, sending
)");
}

TEST(Describe, ShowsChainsRelaysBranchesAndListsOfStages) {
  const BroadcastExample example;
  const std::string text = describe(example.plan, example.topology);
  // Stages 0, 1 hold 3 + 5 chunks, 2 and 5 hold 4 each; NIC 1 sends all 16.
  for (const char* part : {
           R"(: 7 transfers, 6 stages, 56 chunks of 1MiB
order critical: stages of 16 chunk times in all, lower bound 16 (NIC 1, sending)
)",
           R"(
transfer  stage    route  source         target  send NIC  receive NIC  offset  size  chunks  after  via place
       0      -   direct       0              1         -            -      0B  8MiB       8      -          -
       1      -   direct       1              2         -            -      0B  8MiB       8      0          -
       2      -   direct       2              3         -            -      0B  8MiB       8      1          -
       3   0..1   staged       0  4+6+7,8+10+11         1          5,9      0B  8MiB       8      -          -
       4      -   direct       6              5         -            -      0B  8MiB       8      3          -
       5      -   direct      11              9         -            -      0B  8MiB       8      3          -
       6      -  relayed       0              0         -            -      0B  8MiB       8      -          2
)",
           R"(
stage  chunks  NIC pairs  node to node
    0       3          1           0>1
    1       5          1           0>1
    2       4          1           0>2
    5       4          1           0>2
)",
       }) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(Describe, ALocalOrderHasNoStages) {
  BroadcastExample example;
  example.plan.order = Order::kLocal;
  const std::string text = describe(example.plan, example.topology);
  EXPECT_THAT(text, HasSubstr("\norder local: no stages, each source interleaves\n"));
  EXPECT_THAT(text, Not(HasSubstr("node to node")));
}

TEST(Describe, LeavesOutTablesWithoutALoadAndCutsLongOnes) {
  const Topology inside = cluster(1, 2);
  EXPECT_THAT(describe(plan_of(send_recv(2, Rank(0), Rank(1), 6_MiB), inside, 1), inside),
              Not(HasSubstr("rail ")));
  const Topology large = cluster(16, 8);
  const std::string ring = describe(plan_of(send_recv_ring(128, 6_MiB), large, 1), large);
  EXPECT_THAT(ring, HasSubstr("... and 64 more"));
  EXPECT_LT(std::ranges::count(ring, '\n'), 4 * 70);
}

TEST(Describe, SaysSoWhenNothingMoves) {
  const Topology topology = cluster(1, 2);
  EXPECT_THAT(describe(plan_of(send_recv(2, Rank(0), Rank(1), 0_B), topology, 1), topology),
              HasSubstr("bound (nominal): nothing to move"));
}

TEST(Describe, ShowsRegisteredTransfersWithTheirStagesAndNoCopy) {
  const Topology topology = cluster(2, 2);
  const Pattern pattern = send_recv(4, Rank(0), Rank(3), 8_MiB);
  const Plan plan =
      compile(pattern, topology, {.chunk_size = 2_MiB, .forwarding = Forwarding::kOwnNic});
  const std::string text = describe(plan, topology, nominal_rates(topology));
  EXPECT_THAT(text, HasSubstr(R"(
transfer  stage       route  source  target  send NIC  receive NIC  offset  size  chunks
       0      0  registered       0       3         0            3      0B  8MiB       4
)"));
  EXPECT_THAT(text, HasSubstr("order critical: stages of 4 chunk times in all, lower bound 4"));
  EXPECT_THAT(text, Not(HasSubstr("copy engines")));
}

}  // namespace
}  // namespace hoccl::engine
