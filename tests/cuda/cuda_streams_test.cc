#include "hw/stream/cuda_streams.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/config_error.h"
#include "hw/cuda/cuda_raii.h"
#include "tests/cuda/gpu.h"
#include "tests/cuda/gpu_copies.h"

namespace hoccl::hw {
namespace {

using engine::Gate;
using engine::GateReached;
using engine::Sequence;
using engine::StreamId;
using std::chrono::milliseconds;

constexpr int kDevice = 0;
constexpr Gate kGate{1, StreamId(0)};

class CudaGates : public testing::TestWithParam<GateKind> {
 protected:
  void SetUp() override {
    HOCCL_NEEDS_GPU();
    streams_ = std::make_unique<CudaStreams>(kDevice, GetParam(), [this](GateReached reached) {
      const std::scoped_lock lock(mutex_);
      told_.push_back(reached.sequence);
    });
  }

  /// How far the stream is known to have come, after at most a second.
  Sequence reached(Sequence at_least) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    Sequence last = 0;
    while (last < at_least && std::chrono::steady_clock::now() < end) {
      if (const auto polled = streams_->poll()) last = polled->sequence;
      const std::scoped_lock lock(mutex_);
      if (!told_.empty()) last = told_.back();
    }
    return last;
  }

  std::mutex mutex_;
  std::vector<Sequence> told_;
  std::unique_ptr<CudaStreams> streams_;
};

TEST_P(CudaGates, TellThatAStreamHasComeSoFar) {
  streams_->enqueue_ready(kGate, 1);
  EXPECT_EQ(reached(1), 1U);
  streams_->enqueue_ready(kGate, 2);
  streams_->enqueue_ready(kGate, 3);
  EXPECT_EQ(reached(3), 3U);
  EXPECT_FALSE(streams_->must_be_polled());
}

TEST_P(CudaGates, HoldTheStreamUntilTheyAreOpen) {
  streams_->enqueue_wait(kGate, 1);
  streams_->enqueue_ready(kGate, 1);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(streams_->poll().has_value());
  EXPECT_TRUE(told_.empty());
  streams_->open_gate(kGate, 1);
  EXPECT_EQ(reached(1), 1U);
  streams_->synchronize(kGate.stream);
  EXPECT_TRUE(streams_->idle());
}

TEST_P(CudaGates, AreWhereAStreamRestsWhateverIsBehindThem) {
  streams_->enqueue_ready(kGate, 1);
  streams_->enqueue_wait(kGate, 1);
  streams_->enqueue_ready(kGate, 2);
  streams_->enqueue_wait(kGate, 2);
  EXPECT_EQ(reached(1), 1U);
  EXPECT_TRUE(streams_->idle());
  streams_->open_gate(kGate, 1);
  EXPECT_EQ(reached(2), 2U);
  EXPECT_TRUE(streams_->idle());
  streams_->open_gate(kGate, 2);
}

TEST_P(CudaGates, OfOneStreamDoNotHoldAnother) {
  constexpr Gate kOther{1, StreamId(1)};
  streams_->enqueue_wait(kGate, 1);
  streams_->enqueue_ready(kOther, 1);
  EXPECT_EQ(reached(1), 1U);
  streams_->open_gate(kGate, 1);
}

/// What an application may do while an operation is pending: a call that waits for the stream holds
/// the driver's lock, which the proxy needs before it can open the gate. Giving memory back is such
/// a call (hw/GOTCHAS.md).
TEST_P(CudaGates, HoldUpNoOtherCalls) {
  std::atomic<bool> stop{false};
  std::atomic<int> rounds{0};
  std::thread proxy([&] {
    const DeviceMemory here(1 << 20);
    const PinnedMemory there(1 << 20);
    const CudaStream stream(CudaStream::Priority::kHighest);
    while (!stop) {
      enqueue_copy(there.data(), here.data(), here.size(), stream);
      enqueue_copy(here.data() + 4096, here.data(), 4096, stream);
      synchronize(stream);
      ++rounds;
    }
  });
  Sequence sequence = 0;
  const auto expect_not_held = [&](const char* what, const std::function<void()>& call) {
    streams_->enqueue_ready(kGate, ++sequence);
    streams_->enqueue_wait(kGate, sequence);
    EXPECT_EQ(reached(sequence), sequence);
    std::future<void> done = std::async(std::launch::async, call);
    EXPECT_EQ(done.wait_for(milliseconds(1500)), std::future_status::ready) << what;
    const int before = rounds;
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_GT(rounds, before) << "copies stand still: " << what;
    streams_->open_gate(kGate, sequence);
    done.get();
  };
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<std::unique_ptr<PinnedMemory>> pinned;
  std::vector<CudaStream> more;
  for (int i = 0; i < 3; ++i) {
    expect_not_held("memory of the GPU",
                    [&] { memory.push_back(std::make_unique<DeviceMemory>(20 << 10)); });
    expect_not_held("much memory of the GPU",
                    [&] { memory.push_back(std::make_unique<DeviceMemory>(64 << 20)); });
    expect_not_held("a stream", [&] { more.emplace_back(); });
    expect_not_held("an event", [] { const CudaEvent event; });
    expect_not_held("the first mark of another stream", [&] {
      streams_->enqueue_ready({2, StreamId(10 + i)}, 1);
    });
    expect_not_held("page-locked memory",
                    [&] { pinned.push_back(std::make_unique<PinnedMemory>(1 << 20)); });
  }
  stop = true;
  proxy.join();
}

TEST_P(CudaGates, LetGoWhatWaitsWhenTheyEnd) {
  streams_->enqueue_wait(kGate, 7);
  streams_.reset();  // or this would never return
}

TEST_P(CudaGates, RefuseTheLegacyDefaultStream) {
  for (const cudaStream_t stream : {cudaStream_t{nullptr}, cudaStreamLegacy}) {
    EXPECT_THROW(streams_->adopt(StreamId(3), stream), engine::ConfigError);
  }
  streams_->adopt(StreamId(4), cudaStreamPerThread);
  streams_->enqueue_ready({1, StreamId(4)}, 1);
  EXPECT_EQ(reached(1), 1U);
}

TEST_P(CudaGates, RefuseAStreamThatIsCaptured) {
  const CudaStream stream;
  streams_->adopt(StreamId(5), stream.get());
  require_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed), "capture");
  EXPECT_THROW(streams_->enqueue_ready({1, StreamId(5)}, 1), engine::ConfigError);
  EXPECT_THROW(streams_->enqueue_wait({1, StreamId(5)}, 1), engine::ConfigError);
  cudaGraph_t graph = nullptr;
  require_cuda(cudaStreamEndCapture(stream.get(), &graph), "end the capture");
  cudaGraphDestroy(graph);
  streams_->enqueue_ready({1, StreamId(5)}, 1);
  EXPECT_EQ(reached(1), 1U);
  streams_.reset();  // the stream must outlive it
}

INSTANTIATE_TEST_SUITE_P(Gpu, CudaGates,
                         testing::Values(GateKind::kMemoryOperations, GateKind::kHostFunctions),
                         [](const auto& param) {
                           return param.param == GateKind::kMemoryOperations ? "MemoryOperations"
                                                                             : "HostFunctions";
                         });

}  // namespace
}  // namespace hoccl::hw
