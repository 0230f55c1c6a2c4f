// The functional proof on our own pipeline: it ends while every SM is held.

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "hw/cuda/cuda_raii.h"
#include "tests/cuda/gpu.h"
#include "tests/cuda/gpu_copies.h"
#include "tests/cuda/sm_holder.h"
#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::StreamId;

constexpr Bytes kMessage(std::int64_t{32} << 20);
constexpr Bytes kChunk(std::int64_t{2} << 20);

JobSettings settings(LinkKind link, GateKind gates) {
  JobSettings settings{
      engine::preset_topology("h200-1x1").with_ranks(2), {}, {}, {}, /*proxies=*/true, {}};
  settings.compile.chunk_size = kChunk;
  settings.options.slot_size = kChunk;
  settings.options.copy = CopyKind::kCuda;
  settings.options.link = link;
  settings.options.gates = gates;
  settings.options.strict = true;
  return settings;
}

/// Two ranks as threads, and a message from the one to the other.
class Pair {
 public:
  Pair(LinkKind link, GateKind gates)
      : ranks_(settings(link, gates), Living::kThread),
        source_{ranks_.allocate(Rank(0), kMessage), Bytes(0), kMessage},
        target_{ranks_.allocate(Rank(1), kMessage), Bytes(0), kMessage} {}

  void fill(std::uint64_t message) { ranks_.fill(source_, message); }
  bool holds(std::uint64_t message) { return ranks_.holds(target_, message); }

  void start() {
    ranks_.call(Rank(0), [source = source_](RankUnderTest& rank) {
      rank.remember(rank.communicator(0).send(source, Rank(1), StreamId(0)));
    });
    ranks_.call(Rank(1), [target = target_](RankUnderTest& rank) {
      rank.remember(rank.communicator(0).receive(target, Rank(0), StreamId(0)));
    });
  }
  /// Both ranks' operations have ended within the time.
  bool ends_within(engine::Seconds time) {
    bool ended = true;
    for (const Rank rank : {Rank(0), Rank(1)}) {
      ended =
          ranks_.call(rank, [time](RankUnderTest& of) { return of.await_works(time); }) && ended;
    }
    return ended;
  }

 private:
  HwRanks ranks_;
  const Region source_;
  const Region target_;
};

class ZeroSmPipeline : public testing::TestWithParam<std::pair<LinkKind, GateKind>> {
 protected:
  void SetUp() override { HOCCL_NEEDS_GPU(); }
};

TEST_P(ZeroSmPipeline, MovesAMessageWhileEverySmIsHeldAndACopyWithinTheGpuDoesNot) {
  constexpr std::size_t kLocal = std::size_t{2} << 20;
  const DeviceMemory from(kLocal);
  const DeviceMemory to(kLocal);
  const CudaStream within;
  const CudaEvent copied;
  enqueue_copy(to.data(), from.data(), kLocal, within);  // what CUDA prepares once
  synchronize(within);

  Pair pair(GetParam().first, GetParam().second);
  pair.fill(1);
  pair.start();
  ASSERT_TRUE(pair.ends_within(engine::Seconds(10.0)));
  ASSERT_TRUE(pair.holds(1));
  pair.fill(2);

  SmHolder holder;
  enqueue_copy(to.data(), from.data(), kLocal, within);
  require_cuda(cudaEventRecord(copied.get(), within.get()), "record an event");
  pair.start();
  EXPECT_TRUE(pair.ends_within(engine::Seconds(1.0)));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(cudaEventQuery(copied.get()), cudaErrorNotReady) << "a copy within the GPU needs SMs";
  EXPECT_TRUE(holder.holds_all());
  holder.release();
  synchronize(within);
  EXPECT_TRUE(pair.holds(2));
}

INSTANTIATE_TEST_SUITE_P(
    Gpu, ZeroSmPipeline,
    testing::Values(std::pair(LinkKind::kLoopbackMap, GateKind::kMemoryOperations),
                    std::pair(LinkKind::kLoopbackMap, GateKind::kHostFunctions),
                    std::pair(LinkKind::kLoopback, GateKind::kMemoryOperations)),
    [](const auto& param) {
      return std::string(param.param.first == LinkKind::kLoopbackMap ? "Map" : "Wire") +
             (param.param.second == GateKind::kMemoryOperations ? "MemoryOperations"
                                                                : "HostFunctions");
    });

}  // namespace
}  // namespace hoccl::hw
