#include "hw/calibrate/lock_bench.h"

#include <cuda_runtime_api.h>

#include <array>
#include <barrier>
#include <deque>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hw/calibrate/calibration_failed.h"
#include "hw/calibrate/copy_path_raii.h"
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
  void copy() {
    require_cuda(cudaMemcpyAsync(host_.data(), device_.data(), kCopySize, cudaMemcpyDeviceToHost,
                                 stream_.get()),
                 "copy");
  }
  void write_word() {
    require_driver(CudaDriver::get().stream_write_value_64(
                       stream_.get(), reinterpret_cast<CUdeviceptr>(host_.data() + kCopySize), 1,
                       CU_STREAM_WRITE_VALUE_DEFAULT),
                   "let a stream write a word");
  }
  void record_event() { record(event_, stream_); }
  void query_event() { (void)is_done(event_); }

  /// Mean time of a call while others make the same.
  Seconds time_calls(void (Caller::*call)()) {
    Seconds time{0.0};
    for (int i = 0; i < kCallsPerThread; ++i) {
      time += time_of([&] { (this->*call)(); });
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

struct Kind {
  const char* name;
  void (Caller::*call)();
};
constexpr std::array kKinds = {Kind{kLockCopy, &Caller::copy}, Kind{kLockWord, &Caller::write_word},
                               Kind{kLockEvent, &Caller::record_event},
                               Kind{kLockQuery, &Caller::query_event}};
static_assert(kKinds.size() == kLockKinds.size() + 1);  // and words

/// Time per call of all threads together.
Seconds time_of_turn(int device, std::deque<Caller>& callers, const Kind& kind) {
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
        const Seconds mean = caller.time_calls(kind.call);
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
    for (const Kind& kind : kKinds) {
      samples.add({kLockTime, kind.name, Bytes(0), kLockThreads},
                  time_of_turn(device, callers, kind));
    }
  }
}

}  // namespace hoccl::hw
