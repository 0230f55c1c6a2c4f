#include "engine/schedule/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/compile.h"
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

TEST(Describe, ShowsTransfersLoadsAndBounds) {
  const Topology topology = cluster(2, 4);
  const Plan plan = plan_of(send_recv(8, Rank(0), Rank(4), 6_MiB), topology, 2);
  Rates calibrated = nominal_rates(topology);
  calibrated.nic = BytesPerSecond(48e9);
  // 3 chunks over 2 rails: 1 and 2; the second binds with 4 MiB over 50 GB/s = 83.886 us and 6 MiB
  // over that time = 75 GB/s; at 48 GB/s 87.381 us and 72 GB/s.
  EXPECT_EQ(describe(plan, topology, calibrated),
            R"(sendrecv of 6MiB on test-2x4 with 8 ranks: 2 transfers, 1 stages, 3 chunks of 2MiB

transfer  stage   route  source  target  send NIC  receive NIC  offset  size  chunks
       0      0  staged       0       4         1            5      0B  2MiB       1
       1      0  staged       0       4         2            6    2MiB  4MiB       2

rail  node  NIC  next to GPU  sends  receives
   1     0    1            1   2MiB         -
   1     1    5            5      -      2MiB
   2     0    2            2   4MiB         -
   2     1    6            6      -      4MiB

GPU  node  NVLink out  NVLink in  NICs out  NICs in
  0     0        6MiB          -         -        -
  1     0           -       2MiB      2MiB        -
  2     0           -       4MiB      4MiB        -
  4     1           -       6MiB         -        -
  5     1        2MiB          -         -     2MiB
  6     1        4MiB          -         -     4MiB

copy engines of GPU  peer  D2H  H2D  PCIe out  PCIe in
                  0  6MiB    -    -         -        -
                  4  6MiB    -    -         -        -

bound (nominal): 83.886 us, 75.00 GB/s algbw, by NIC 2, sending
bound (calibrated): 87.381 us, 72.00 GB/s algbw, by NIC 2, sending
)");
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

}  // namespace
}  // namespace hoccl::engine
