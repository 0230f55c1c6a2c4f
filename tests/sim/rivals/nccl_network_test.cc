#include <gtest/gtest.h>

#include "tests/sim/rivals/nccl_scenario.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Seconds;
using namespace engine::literals;

engine::BytesPerSecond nic_rate() { return kH800.rates(engine::preset_topology("h800-2x8")).nic; }

/// What a step takes from the sender's flag until the receiver's SM sees it, nothing in its way.
Seconds step_on_its_way() {
  const NcclConstants& nccl = kH800.nccl;
  return nccl.flag_latency + nccl.proxy_step / 2 + kH800.queue_pair.message_overhead +
         nccl.net_step / nic_rate() + kH800.queue_pair.wire_latency + nccl.proxy_step / 2 +
         nccl.flag_latency;
}

TEST(NcclNetwork, OneChannelIsBoundByItsCopyLoop) {
  const NcclConstants& nccl = kH800.nccl;
  const std::int64_t steps = 200;
  const Seconds step = slice_time(nccl, nccl.net_step);
  ASSERT_LT(kH800.queue_pair.message_overhead + nccl.net_step / nic_rate(), step);
  const Seconds expected =
      nccl.kernel_start + static_cast<double>(steps) * step + step_on_its_way() + step;
  const RunResult result = simulated({.channels = 1, .target = 8}, nccl.net_step * steps);
  EXPECT_NEAR(result.time / expected, 1.0, kRounding);
}

TEST(NcclNetwork, OneChannelReachesAboutWhatNcclPlansForIt) {
  // The plan (NCCL_P2P_PER_CHANNEL_NET_BW, 14 GB/s) is no constant of the data path.
  const RunResult result = simulated({.channels = 1, .target = 8}, 256_MiB);
  EXPECT_NEAR(result.algbw / kH800.nccl.channel_net_rate, 1.0, 0.03);
}

TEST(NcclNetwork, FourChannelsFillTheNic) {
  const RunResult result = simulated({.channels = 4, .target = 8}, 1_GiB);
  EXPECT_GT(result.algbw / nic_rate(), 0.99);
  EXPECT_LE(result.algbw / nic_rate(), 1.0);
}

TEST(NcclNetwork, HoldsNoMoreSmsThanTheNicNeeds) {
  // ceil(50 / 14) = 4 channels per peer.
  EXPECT_EQ(simulated({.channels = 8, .target = 8}, 64_MiB).sms, 4);
  EXPECT_EQ(simulated({.channels = 2, .target = 8}, 64_MiB).sms, 2);
}

TEST(NcclNetwork, FewerFifoSlotsAreSlower) {
  const Bytes size = 64_MiB;
  const auto time = [&](int slots) {
    return simulated({.channels = 4,
                      .target = 8,
                      .settings = {"nccl.fifo_slots=" + std::to_string(slots)}},
                     size)
        .time;
  };
  const Seconds one = time(1);
  const Seconds two = time(2);
  const Seconds eight = time(8);
  EXPECT_GT(one / two, 1.5);
  EXPECT_GT(two / eight, 1.01);
}

TEST(NcclNetwork, FifoOfOneSlotTakesOneRoundTripPerStep) {
  const NcclConstants& nccl = kH800.nccl;
  const std::int64_t steps = 20;
  const Seconds copy = slice_time(nccl, nccl.net_step);
  // The sender's slot comes back when its own proxy has seen the completion, and only then can the
  // SM fill it again; the receiver's has been announced by then or not, whichever is later.
  const Seconds slot_back = nccl.flag_latency + nccl.proxy_step / 2 +
                            kH800.queue_pair.message_overhead + nccl.net_step / nic_rate() +
                            kH800.queue_pair.wire_latency + kH800.queue_pair.completion_latency +
                            nccl.proxy_step / 2 + nccl.flag_latency;
  const Seconds announced_again = copy + nccl.flag_latency + nccl.proxy_step / 2 +
                                  kH800.queue_pair.wire_latency;  // since the SM saw the arrival
  // From post to post: the sender's own loop, or the receiver's.
  const Seconds sender_loop = slot_back + copy;
  const Seconds post_to_arrival = step_on_its_way() - nccl.flag_latency - nccl.proxy_step / 2;
  const Seconds receiver_loop = nccl.proxy_step / 2 + post_to_arrival + announced_again;
  const Seconds loop = std::max(sender_loop, receiver_loop);
  const Seconds expected =
      nccl.kernel_start + copy + static_cast<double>(steps - 1) * loop + step_on_its_way() + copy;
  const RunResult result = simulated(
      {.channels = 1, .target = 8, .settings = {"nccl.fifo_slots=1"}}, nccl.net_step * steps);
  EXPECT_NEAR(result.time / expected, 1.0, kRounding);
}

TEST(NcclNetwork, SlowProxyBoundsTheRate) {
  // Each step costs each proxy one proxy_step, so 128 KiB per 10 us at most.
  const NcclConstants& nccl = kH800.nccl;
  const RunResult result =
      simulated({.channels = 4, .target = 8, .settings = {"nccl.proxy_step=10us"}}, 64_MiB);
  EXPECT_NEAR(result.algbw / (nccl.net_step / Seconds(10e-6)), 1.0, 0.02);
}

TEST(NcclNetwork, ChargesEveryStepToBothProxies) {
  const NcclConstants& nccl = kH800.nccl;
  const Bytes size = 32_MiB;
  const auto steps = static_cast<double>(size / nccl.net_step);
  const RunResult result = simulated({.channels = 4, .target = 8}, size);
  EXPECT_NEAR(result.proxy / (steps * nccl.proxy_step), 1.0, kRounding);
  EXPECT_NEAR(result.submit / (steps * nccl.proxy_step / 2), 1.0, kRounding);
  EXPECT_EQ(result.link_bytes->nic, size);
  EXPECT_EQ(result.link_bytes->nvlink, Bytes(0));
}

TEST(NcclNetwork, RingOverTwoNodesIsSetByItsSlowHop) {
  const RunResult ring = simulated({.channels = 8, .pattern = "sendrecv-ring"}, 256_MiB);
  EXPECT_GT(ring.algbw / nic_rate(), 0.97);
  EXPECT_LE(ring.algbw / nic_rate(), 1.0);
}

}  // namespace
}  // namespace hoccl::sim
