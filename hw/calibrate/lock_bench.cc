#include "hw/calibrate/lock_bench.h"

#include <cuda_runtime_api.h>

#include <barrier>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hw/calibrate/calibration_failed.h"
#include "hw/calibrate/spin.h"
#include "hw/calibrate/what_is_measured.h"
#include "hw/cuda/cuda_devices.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

constexpr int kRepetitions = 5;
constexpr int kCallsPerThread = 800;
/// A stream takes this many without waiting for the GPU.
constexpr int kCallsAhead = 32;
constexpr std::size_t kCopySize = 4096;

/// What one thread calls the driver with.
class Caller {
 public:
  void call(const std::string& kind) {
    if (kind == kLockCopy) {
      require_cuda(cudaMemcpyAsync(host_.data(), device_.data(), kCopySize, cudaMemcpyDeviceToHost,
                                   stream_.get()),
                   "copy");
    } else if (kind == kLockWord) {
      require_driver(CudaDriver::get().stream_write_value_64(
                         stream_.get(), reinterpret_cast<CUdeviceptr>(host_.data() + kCopySize), 1,
                         CU_STREAM_WRITE_VALUE_DEFAULT),
                     "let a stream write a word");
    } else if (kind == kLockEvent) {
      require_cuda(cudaEventRecord(event_.get(), stream_.get()), "record an event");
    } else {
      const cudaError_t state = cudaEventQuery(event_.get());
      if (state != cudaErrorNotReady) require_cuda(state, "query an event");
    }
  }

  /// Mean time of a call while others make the same.
  Seconds time_calls(const std::string& kind) {
    Seconds time{0.0};
    for (int i = 0; i < kCallsPerThread; ++i) {
      const Seconds begin = monotonic_now();
      call(kind);
      time += monotonic_now() - begin - clock_cost();
      if (i % kCallsAhead == kCallsAhead - 1) {
        require_cuda(cudaStreamSynchronize(stream_.get()), "wait for a stream");
      }
    }
    return time / kCallsPerThread;
  }

 private:
  PinnedMemory host_{2 * kCopySize};
  DeviceMemory device_{kCopySize};
  CudaStream stream_;
  CudaEvent event_;
};

/// Time per call of all threads together.
Seconds time_of_turn(int device, std::deque<Caller>& callers, const std::string& kind) {
  std::barrier begin(static_cast<std::ptrdiff_t>(callers.size()));
  std::mutex mutex;
  std::string failure;
  Seconds sum{0.0};
  std::vector<std::thread> threads;
  for (Caller& caller : callers) {
    threads.emplace_back([&] {
      begin.arrive_and_wait();
      try {
        use_cuda_device(device);
        const Seconds mean = caller.time_calls(kind);
        const std::scoped_lock lock(mutex);
        sum += mean;
      } catch (const std::exception& error) {
        const std::scoped_lock lock(mutex);
        failure = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw CalibrationFailed(failure);
  const auto count = static_cast<double>(callers.size());
  return sum / count / count;
}

}  // namespace

void measure_lock(int device, Samples& samples) {
  use_cuda_device(device);
  std::deque<Caller> callers;
  for (int i = 0; i < kLockThreads; ++i) callers.emplace_back();
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    for (const char* kind : kLockKinds) {
      samples.add({kLockTime, kind, Bytes(0), kLockThreads}, time_of_turn(device, callers, kind));
    }
  }
}

}  // namespace hoccl::hw
