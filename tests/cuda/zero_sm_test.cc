// The functional proof: what ends while every SM is held needs none.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "hw/cuda/cuda_raii.h"
#include "tests/cuda/gpu.h"
#include "tests/cuda/gpu_copies.h"
#include "tests/cuda/sm_holder.h"

namespace hoccl::hw {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kChunk = std::size_t{2} << 20;
constexpr std::size_t kBatch = 8;
constexpr milliseconds kEnough{1000};  // 8 chunks take 0.3 ms
constexpr milliseconds kBlocked{200};

class ZeroSm : public testing::Test {
 protected:
  void SetUp() override { HOCCL_NEEDS_GPU(); }
};

bool is_filled_with(const std::byte* bytes, std::size_t size, int value) {
  const std::vector<std::byte> expected(size, static_cast<std::byte>(value));
  return std::memcmp(bytes, expected.data(), size) == 0;
}

/// Memory on both sides, of one value on the side that is read, and of another where it is written.
struct Buffers {
  Buffers() {
    const CudaStream stream;
    synchronize_device();  // the zeroes of new memory are written on the default stream
    // What CUDA prepares for the first operation of a kind could wait for SMs itself.
    enqueue_copy(host_target.data(), device_source.data(), kChunk, stream);
    enqueue_copy(device_target.data(), host_source.data(), kChunk, stream);
    enqueue_copy(device_target.data(), device_source.data(), kChunk, stream);
    enqueue_batch(host_target.data(), device_source.data(), kChunk, kBatch, stream);
    enqueue_batch(device_target.data(), host_source.data(), kChunk, kBatch, stream);
    synchronize(stream);
    std::memset(host_source.data(), 0x5a, host_source.size());
    std::memset(host_target.data(), 0xa5, host_target.size());
    enqueue_copy(device_source.data(), host_target.data(), device_source.size(), stream);
    synchronize(stream);
    std::memset(host_target.data(), 0, host_target.size());
  }

  PinnedMemory host_source{kChunk * kBatch};
  PinnedMemory host_target{kChunk * kBatch};
  DeviceMemory device_source{kChunk * kBatch};
  DeviceMemory device_target{kChunk * kBatch};
};

TEST_F(ZeroSm, TheHolderHoldsAndReleases) {
  SmHolder holder;
  EXPECT_TRUE(holder.holds_all());
  holder.release();
  EXPECT_FALSE(holder.holds_all());
}

TEST_F(ZeroSm, TheHolderFreesTheGpuByItself) {
  SmHolder holder(milliseconds(100));
  EXPECT_TRUE(holder.holds_all());
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(holder.holds_all());
}

TEST_F(ZeroSm, CopiesBetweenHostAndDeviceEndWhileEverySmIsHeld) {
  Buffers buffers;
  const CudaStream to_host, to_device, batch_to_host, batch_to_device, within;
  const std::size_t last = kChunk * (kBatch - 1);
  SmHolder holder;
  ASSERT_TRUE(holder.holds_all());

  enqueue_copy(buffers.host_target.data(), buffers.device_source.data(), kChunk, to_host);
  EXPECT_TRUE(ends_within(to_host, kEnough)) << "D2H of 2 MiB waits for an SM";
  enqueue_copy(buffers.device_target.data(), buffers.host_source.data(), kChunk, to_device);
  EXPECT_TRUE(ends_within(to_device, kEnough)) << "H2D of 2 MiB waits for an SM";
  enqueue_batch(buffers.host_target.data(), buffers.device_source.data(), kChunk, kBatch,
                batch_to_host);
  EXPECT_TRUE(ends_within(batch_to_host, kEnough)) << "a batch D2H waits for an SM";
  enqueue_batch(buffers.device_target.data(), buffers.host_source.data(), kChunk, kBatch,
                batch_to_device);
  EXPECT_TRUE(ends_within(batch_to_device, kEnough)) << "a batch H2D waits for an SM";

  // The control: were it to end, the copies above would prove nothing.
  enqueue_copy(buffers.device_source.data(), buffers.device_target.data(), kChunk, within);
  EXPECT_FALSE(ends_within(within, kBlocked))
      << "a copy within the GPU ended: it has not used SMs, or not every SM is held";
  EXPECT_TRUE(holder.holds_all()) << "the SMs were freed too early: the test is void";

  holder.release();
  EXPECT_TRUE(ends_within(within, kEnough)) << "a copy within the GPU did not end afterwards";
  EXPECT_TRUE(is_filled_with(buffers.host_target.data(), kChunk * kBatch, 0xa5));
  enqueue_copy(buffers.host_target.data(), buffers.device_target.data(), kChunk * kBatch, to_host);
  synchronize(to_host);
  EXPECT_TRUE(is_filled_with(buffers.host_target.data(), kChunk, 0x5a));
  EXPECT_TRUE(is_filled_with(buffers.host_target.data() + last, kChunk, 0x5a));
}

// Not a requirement, but good to know: a copy on the compute *channel* need not use an SM.
TEST_F(ZeroSm, PrintsWhichSmallOperationsEndWhileEverySmIsHeld) {
  struct Operation {
    std::string name;
    std::function<void(const CudaStream&)> enqueue;
  };
  Buffers buffers;
  const auto host_to_device = [&](std::size_t size) {
    return Operation{fmt::format("H2D of {} B", size), [&buffers, size](const CudaStream& stream) {
                       enqueue_copy(buffers.device_target.data(), buffers.host_source.data(), size,
                                    stream);
                     }};
  };
  const auto device_to_host = [&](std::size_t size) {
    return Operation{fmt::format("D2H of {} B", size), [&buffers, size](const CudaStream& stream) {
                       enqueue_copy(buffers.host_target.data(), buffers.device_source.data(), size,
                                    stream);
                     }};
  };
  const auto within = [&](std::size_t size) {
    return Operation{fmt::format("D2D of {} B", size), [&buffers, size](const CudaStream& stream) {
                       enqueue_copy(buffers.device_target.data(), buffers.device_source.data(),
                                    size, stream);
                     }};
  };
  std::vector<Operation> operations;
  for (const std::size_t size : {4, 64, 4096, 16384, 32768, 65536}) {
    operations.push_back(host_to_device(size));
    operations.push_back(device_to_host(size));
  }
  operations.push_back({"H2D batch of 8 x 4096 B", [&](const CudaStream& stream) {
                          enqueue_batch(buffers.device_target.data(), buffers.host_source.data(),
                                        4096, 8, stream);
                        }});
  operations.push_back(within(4));
  operations.push_back(within(65536));
  const std::vector<CudaStream> streams(operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) operations[i].enqueue(streams[i]);
  synchronize_device();

  SmHolder holder(std::chrono::seconds(4));
  ASSERT_TRUE(holder.holds_all());
  std::string table = "# while every SM is held:\n";
  for (std::size_t i = 0; i < operations.size(); ++i) {
    operations[i].enqueue(streams[i]);
    table += fmt::format("#   {:<24} {}\n", operations[i].name,
                         ends_within(streams[i], milliseconds(50)) ? "ends" : "waits for an SM");
  }
  EXPECT_TRUE(holder.holds_all()) << "the SMs were freed too early: the table is void";
  std::fputs(table.c_str(), stdout);
  holder.release();
  for (const CudaStream& stream : streams) EXPECT_TRUE(ends_within(stream, kEnough));
}

}  // namespace
}  // namespace hoccl::hw
