// User buffers on the GPU between processes: CUDA IPC, and memory that it cannot hand on.

#include <gtest/gtest.h>

#include <cstring>

#include "hw/cuda/cuda_raii.h"
#include "hw/device/gpu_files.h"
#include "tests/cuda/vmm_memory.h"
#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {
namespace {

using engine::BufferHandle;
using engine::Bytes;
using engine::Cause;
using engine::Rank;
using engine::Region;
using engine::StreamId;

constexpr Bytes kSize(100000);

/// Ranks as processes, whose GPUs are all the one that is there. The parent must not start CUDA, so
/// the GPU's file tells whether there is one.
class CudaMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_files().empty()) GTEST_SKIP() << "no GPU here: no /dev/nvidia<n>";
    JobSettings settings{
        engine::preset_topology("h800-1x4").with_ranks(2), {}, {}, {}, /*proxies=*/true, {}};
    settings.compile.chunk_size = Bytes(4096);
    settings.options.slot_size = settings.compile.chunk_size;
    settings.options.copy = CopyKind::kCuda;
    settings.options.link = LinkKind::kLoopbackMap;
    settings.options.devices.assign(4, 0);
    ranks_ = std::make_unique<HwRanks>(settings, Living::kProcess);
    source_ = {ranks_->allocate(Rank(0), kSize), Bytes(0), kSize};
  }

  /// A message from rank 0 into a buffer of rank 1; how that ended there.
  Cause send(const Region& target, std::uint64_t message) {
    ranks_->fill(source_, message);
    ranks_->call(Rank(0), [source = source_](RankUnderTest& rank) {
      rank.remember(rank.communicator(0).send(source, Rank(1), StreamId(0)));
    });
    const Cause cause = ranks_->call(Rank(1), [target](RankUnderTest& rank) {
      const int work = rank.remember(rank.communicator(0).receive(target, Rank(0), StreamId(0)));
      rank.fabric().synchronize(StreamId(0));
      return rank.status(work)->cause;
    });
    ranks_->call(Rank(0), [](RankUnderTest& rank) { rank.fabric().synchronize(StreamId(0)); });
    return cause;
  }

  std::unique_ptr<HwRanks> ranks_;
  Region source_;
};

struct Named {
  BufferHandle buffer;
  std::byte* address;
};

/// The application's own allocation, of which a part is named.
Named name_part(RankUnderTest& rank, Bytes offset) {
  void* memory = nullptr;
  require_cuda(cudaMalloc(&memory, static_cast<std::size_t>((kSize + offset).count())),
               "allocate memory of the application's");
  auto* bytes = static_cast<std::byte*>(memory);
  return {rank.fabric().register_buffer(
              {bytes + offset.count(), static_cast<std::size_t>(kSize.count())}),
          bytes};
}

TEST_F(CudaMemory, OfTheFabricIsWrittenByAnotherProcess) {
  const Region target{ranks_->allocate(Rank(1), kSize), Bytes(0), kSize};
  for (std::uint64_t message = 1; message <= 3; ++message) {
    EXPECT_EQ(send(target, message), Cause::kNone);
    EXPECT_TRUE(ranks_->holds(target, message));
  }
}

TEST_F(CudaMemory, PartsOfTheApplicationsAllocationsKeepTheirOffsets) {
  // Small allocations share a block of the driver's, which an IPC handle maps as a whole.
  std::vector<Region> targets;
  for (const Bytes offset : {Bytes(0), Bytes(256), Bytes(3000)}) {
    const Named part =
        ranks_->call(Rank(1), [offset](RankUnderTest& rank) { return name_part(rank, offset); });
    targets.push_back({part.buffer, Bytes(0), kSize});
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    EXPECT_EQ(send(targets[i], i + 1), Cause::kNone);
  }
  for (std::size_t i = 0; i < targets.size(); ++i) EXPECT_TRUE(ranks_->holds(targets[i], i + 1));
}

TEST_F(CudaMemory, FreedAndAllocatedAgainAtTheSameAddressIsTheNewMemory) {
  const Named first =
      ranks_->call(Rank(1), [](RankUnderTest& rank) { return name_part(rank, Bytes(0)); });
  EXPECT_EQ(send({first.buffer, Bytes(0), kSize}, 1), Cause::kNone);
  const Named second = ranks_->call(Rank(1), [first](RankUnderTest& rank) {
    require_cuda(cudaFree(first.address), "free memory of the application's");
    return name_part(rank, Bytes(0));
  });
  EXPECT_EQ(second.address, first.address) << "the driver's habit, which this test is about";
  const Region target{second.buffer, Bytes(0), kSize};
  EXPECT_EQ(send(target, 2), Cause::kNone);
  EXPECT_TRUE(ranks_->holds(target, 2));
}

TEST_F(CudaMemory, OfTheVirtualMemoryInterfaceGoesThroughSlots) {
  const BufferHandle buffer = ranks_->call(Rank(1), [](RankUnderTest& rank) {
    // For the life of the process.
    static const VmmMemory memory(static_cast<std::size_t>(kSize.count()));
    return rank.fabric().register_buffer({memory.data(), static_cast<std::size_t>(kSize.count())});
  });
  const Region target{buffer, Bytes(0), kSize};
  EXPECT_EQ(send(target, 4), Cause::kNone);
  EXPECT_TRUE(ranks_->holds(target, 4));
}

}  // namespace
}  // namespace hoccl::hw
