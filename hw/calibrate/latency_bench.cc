#include "hw/calibrate/latency_bench.h"

#include <atomic>
#include <cstdint>

#include "hw/calibrate/copy_path_raii.h"
#include "hw/calibrate/spin.h"
#include "hw/calibrate/what_is_measured.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;
using namespace engine::literals;

namespace {

constexpr int kRepetitions = 60;
/// Until the engine is idle for certain.
constexpr Seconds kPause{30e-6};
/// Not what a copy brings, which is zeros.
constexpr std::uint64_t kOldWord = ~std::uint64_t{0};

class LatencyBench {
 public:
  LatencyBench(CopyPath& path, Samples& samples) : path_(path), samples_(samples) {}

  void see_event(Bytes size) {
    spin_for(kPause);
    const Seconds called = post(size);
    Seconds pending{0.0};
    int pending_count = 0;
    while (true) {
      const Seconds asked = monotonic_now();
      const bool done = is_done(event_);
      const Seconds told = monotonic_now();
      const Seconds cost = told - asked - clock_cost();
      if (done) {
        add(kDoneSeen, size, told - called);
        add(kQueryDone, size, cost);
        break;
      }
      pending += cost;
      ++pending_count;
      if (told - called > kPatience) never_happened("the event behind a copy");
    }
    if (pending_count > 0) add(kQueryPending, size, pending / pending_count);
    const Seconds asked = monotonic_now();
    (void)is_done(event_);
    add(kQueryDoneAgain, size, monotonic_now() - asked - clock_cost());
  }

  /// With the event behind the copy, too, so that all but the waiting is the same.
  void see_data(Bytes size) {
    volatile std::uint64_t* word = path_.last_word(size);
    if (word == nullptr) return;
    *word = kOldWord;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    spin_for(kPause);
    const Seconds called = post(size);
    const Seconds seen = spin_until("the data of a copy", [&] { return *word != kOldWord; });
    add(kDataSeen, size, seen - called);
    wait_for(event_);
  }

  void see_written_word(Bytes size) {
    volatile auto* word = reinterpret_cast<volatile std::uint64_t*>(word_.data());
    const std::uint64_t sequence = *word + 1;
    spin_for(kPause);
    const Seconds called = monotonic_now();
    path_.copy_first(stream_, size);
    const Seconds copied = monotonic_now();
    require_driver(CudaDriver::get().stream_write_value_64(
                       stream_.get(), reinterpret_cast<CUdeviceptr>(word_.data()), sequence,
                       CU_STREAM_WRITE_VALUE_DEFAULT),
                   "let a stream write a word");
    add(kWriteCall, size, monotonic_now() - copied - clock_cost());
    const Seconds seen = spin_until("the word behind a copy", [&] { return *word == sequence; });
    add(kWriteSeen, size, seen - called);
  }

 private:
  void add(const char* measurement, Bytes size, Seconds sample) {
    samples_.add({measurement, path_.name(), size, 1}, sample);
  }

  /// A copy and an event behind it; returns when the call began.
  Seconds post(Bytes size) {
    const Seconds called = monotonic_now();
    path_.copy_first(stream_, size);
    const Seconds copied = monotonic_now();
    record(event_, stream_);
    const Seconds recorded = monotonic_now();
    add(kCopyCallIdle, size, copied - called - clock_cost());
    add(kEventCallIdle, size, recorded - copied - clock_cost());
    return called;
  }

  CopyPath& path_;
  Samples& samples_;
  CudaStream stream_;
  CudaEvent event_;
  PinnedMemory word_{sizeof(std::uint64_t)};
};

}  // namespace

void measure_latencies(CopyPath& path, Samples& samples) {
  Samples warm_up;
  LatencyBench first(path, warm_up);
  for (int i = 0; i < 5; ++i) {
    first.see_event(kSignalSize);
    first.see_written_word(kSignalSize);
  }
  LatencyBench bench(path, samples);
  // In turn, so that what drifts touches all alike.
  for (const Bytes size : kLatencySizes) {
    for (int i = 0; i < kRepetitions; ++i) {
      bench.see_event(size);
      bench.see_data(size);
      bench.see_written_word(size);
    }
  }
}

}  // namespace hoccl::hw
