/// The parts of the machine together: a chunk pipeline as the proxy drives it, against closed
/// forms.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/machine/copy_engine.h"
#include "sim/machine/cpu.h"
#include "sim/machine/queue_pair.h"
#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;
using namespace engine::literals;

/// proxy posts a copy -> DMA over NVLink -> proxy posts a write -> queue pair -> completion. The
/// proxy is one core: copy posts come first, then each write when its copy has completed.
class PipelineTest : public EitherNetwork {
 protected:
  void build(const CopyEngineParameters& copy, const QueuePairParameters& write) {
    nvlink_ = route({link(kNvlink), link(kNvlink)});
    wire_ = route({link(kNic), link(kNic)});
    engine_ = std::make_unique<CopyEngine>(clock_, *network_, copy);
    pair_ = std::make_unique<QueuePair>(clock_, *network_, write);
    proxy_ = std::make_unique<CpuClock>(clock_);
    lane_ = engine_->add_lane();
  }

  void start(std::size_t chunk_count, Bytes chunk) {
    chunk_ = chunk;
    arrived_.resize(chunk_count);
    completed_.resize(chunk_count);
    for (std::size_t i = 0; i < chunk_count; ++i) {
      clock_.at(proxy_->advance(kPost), Callback::to<&PipelineTest::post_copy>(*this, i));
    }
  }

  void post_copy(std::uint64_t index) {
    const Copy copy{nvlink_, chunk_, Callback::to<&PipelineTest::copied>(*this, index)};
    engine_->submit(lane_, std::span(&copy, 1));
  }
  void copied(std::uint64_t index) {
    clock_.at(proxy_->advance(kPost), Callback::to<&PipelineTest::post_write>(*this, index));
  }
  void post_write(std::uint64_t index) {
    pair_->post({wire_, chunk_, record(arrived_[index]), record(completed_[index]), {}});
  }

  static constexpr BytesPerSecond kNvlink = 200_GBps;
  static constexpr BytesPerSecond kNic = 50_GBps;
  static constexpr Seconds kPost = 1_us;

  RouteId nvlink_;
  RouteId wire_;
  std::unique_ptr<CopyEngine> engine_;
  std::unique_ptr<QueuePair> pair_;
  std::unique_ptr<CpuClock> proxy_;
  LaneId lane_;
  Bytes chunk_;
  std::vector<Seconds> arrived_;
  std::vector<Seconds> completed_;
};
HOCCL_ON_BOTH_NETWORKS(PipelineTest);

/// The wire is the bottleneck: the first chunk pays every stage, then one chunk per
/// overhead + chunk / NIC rate.
TEST_P(PipelineTest, ALongPipelineIsFilledOnceThenRunsAtTheWire) {
  build({.launch_latency = 3_us, .setup = 2_us, .completion_latency = 1_us},
        {.message_overhead = 0.5_us, .one_way_latency = 2_us, .completion_latency = 1.5_us});
  constexpr std::size_t kChunks = 64;
  const Bytes chunk = 1_MiB;
  const Seconds copy = chunk / kNvlink;
  const Seconds wire = 0.5_us + chunk / kNic;
  ASSERT_LT(2_us + copy, wire);
  start(kChunks, chunk);
  clock_.run();
  // The proxy is busy posting all copies when the first one completes: its write waits for that.
  const Seconds all_posted = static_cast<double>(kChunks) * kPost;
  const Seconds first_copied = kPost + 3_us + 2_us + copy + 1_us;
  ASSERT_LT(first_copied, all_posted);
  const Seconds first_write = all_posted + kPost;
  for (std::size_t i = 0; i < kChunks; ++i) {
    const Seconds left = first_write + static_cast<double>(i + 1) * wire;
    EXPECT_TIME(arrived_[i], left + 2_us);
    EXPECT_TIME(completed_[i], left + 3.5_us);
  }
}

/// The copy engine is the bottleneck: with setup, a chunk takes it longer than the wire.
TEST_P(PipelineTest, SmallChunksAreHeldUpByTheSetupOfTheEngine) {
  build({.launch_latency = 3_us, .setup = 4_us, .completion_latency = 1_us},
        {.message_overhead = 0.5_us, .one_way_latency = 2_us, .completion_latency = 1.5_us});
  constexpr std::size_t kChunks = 16;
  const Bytes chunk = 64_KiB;
  const Seconds copy = 4_us + chunk / kNvlink;
  const Seconds wire = 0.5_us + chunk / kNic;
  ASSERT_GT(copy, wire);
  start(kChunks, chunk);
  clock_.run();
  Seconds proxy_free = static_cast<double>(kChunks) * kPost;
  Seconds wire_free{};
  for (std::size_t i = 0; i < kChunks; ++i) {
    const Seconds copied = kPost + 3_us + static_cast<double>(i + 1) * copy + 1_us;
    proxy_free = std::max(proxy_free, copied) + kPost;
    wire_free = std::max(wire_free, proxy_free) + wire;
    EXPECT_TIME(arrived_[i], wire_free + 2_us);
  }
}

/// The chain without a proxy: stage-in, wire and deliver of chunk i overlap with those of other
/// chunks; max-plus recurrence of three serial servers.
TEST_P(PipelineTest, ThreeLegsFollowTheRecurrenceOfThreeServers) {
  const CopyEngineParameters copy{
      .launch_latency = 2_us, .setup = 1_us, .completion_latency = 1_us};
  const QueuePairParameters write{
      .message_overhead = 0.4_us, .one_way_latency = 2_us, .completion_latency = 1_us};
  build(copy, write);
  const RouteId last_leg = route({link(kNvlink), link(kNvlink)});
  CopyEngine deliver(clock_, *network_, copy);
  const LaneId deliver_lane = deliver.add_lane();
  const std::vector<Bytes> sizes = {1_MiB, 4_MiB, 256_KiB, 256_KiB, 2_MiB, 8_MiB, 64_KiB, 1_MiB};
  std::vector<Seconds> delivered(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Callback arrived = call([&, i] {
      const Copy pull{last_leg, sizes[i], record(delivered[i])};
      deliver.submit(deliver_lane, std::span(&pull, 1));
    });
    const Callback staged = call([&, i, arrived] {
      pair_->post({wire_, sizes[i], arrived, {}, {}});
    });
    const Copy push{nvlink_, sizes[i], staged};
    engine_->submit(lane_, std::span(&push, 1));
  }
  clock_.run();
  Seconds stage_in = 2_us;
  Seconds wire{};
  Seconds out{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    stage_in += 1_us + sizes[i] / kNvlink;
    wire = std::max(wire, stage_in + 1_us) + 0.4_us + sizes[i] / kNic;
    out = std::max(out, wire + 2_us + 2_us) + 1_us + sizes[i] / kNvlink;
    EXPECT_TIME(delivered[i], out + 1_us);
  }
}

}  // namespace
}  // namespace hoccl::sim
