#include "hw/calibrate/gate_bench.h"

#include <atomic>
#include <cstdint>
#include <string_view>
#include <thread>

#include "hw/calibrate/calibration_failed.h"
#include "hw/calibrate/connections.h"
#include "hw/calibrate/copy_path_raii.h"
#include "hw/calibrate/spin.h"
#include "hw/calibrate/what_is_measured.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

constexpr int kLatencyRepetitions = 200;
constexpr int kWorkRepetitions = 20;
constexpr Seconds kWarmUp{0.3};  ///< the GPU's clocks have risen by then
constexpr Seconds kPause{30e-6};
/// A stream that was given a wait has come to it by then.
constexpr Seconds kBlockedAfter{50e-6};
constexpr Seconds kClosedFor{2e-3};
constexpr Seconds kPiece{12e-6};  ///< of work, at least: more than its call takes
constexpr int kPiecesBefore = 100;
constexpr int kPiecesBehind = 250;
constexpr std::size_t kSmallestPiece = std::size_t{4} << 20;
constexpr std::size_t kLargestPiece = std::size_t{256} << 20;
/// Opens every gate that there will ever be.
constexpr std::uint64_t kAllOpen = std::uint64_t{1} << 40;
constexpr std::size_t kLine = 64;

/// The two words of a gate, each in a cache line of its own.
class GateWords {
 public:
  /// What the CPU polls.
  [[nodiscard]] std::atomic_ref<std::uint64_t> ready() const { return word(0); }
  /// What the stream waits for.
  [[nodiscard]] std::atomic_ref<std::uint64_t> opened() const { return word(kLine); }
  [[nodiscard]] CUdeviceptr ready_address() const {
    return reinterpret_cast<CUdeviceptr>(memory_.data());
  }
  [[nodiscard]] CUdeviceptr opened_address() const { return ready_address() + kLine; }

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t offset) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_.data() + offset));
  }
  PinnedMemory memory_{2 * kLine};
};

/// Opens gates beside the thread that enqueues: the one that is ready, at once; or one at a time.
/// Gates open at the latest then, whatever the enqueueing thread is stuck in.
class Opener {
 public:
  explicit Opener(GateWords& words)
      : words_(words), thread_([this](std::stop_token stop) {
          while (!stop.stop_requested()) look();
        }) {}

  void open_when_ready(std::uint64_t sequence) { when_ready_.store(sequence); }
  void open_at(Seconds time, std::uint64_t sequence) {
    at_sequence_.store(sequence);
    at_time_.store(time.count());
  }

 private:
  void look() {
    const std::uint64_t wanted = when_ready_.load(std::memory_order_relaxed);
    if (wanted != 0 && words_.ready().load(std::memory_order_acquire) >= wanted) {
      words_.opened().store(wanted, std::memory_order_release);
      when_ready_.store(0);
    }
    const double time = at_time_.load();
    if (time != 0.0 && monotonic_now().count() >= time) {
      words_.opened().store(at_sequence_.load(), std::memory_order_release);
      at_time_.store(0.0);
    }
  }

  GateWords& words_;
  std::atomic<std::uint64_t> when_ready_{0};
  std::atomic<std::uint64_t> at_sequence_{0};
  std::atomic<double> at_time_{0.0};
  std::jthread thread_;  ///< last: it uses all above
};

struct HostFunctionMark {
  GateWords* words = nullptr;
  std::uint64_t sequence = 0;
};

void CUDART_CB mark_ready(void* data) {
  const auto& mark = *static_cast<const HostFunctionMark*>(data);
  mark.words->ready().store(mark.sequence, std::memory_order_release);
}

class GateBench {
 public:
  GateBench(const char* mechanism, int connections, Samples& samples)
      : mechanism_(mechanism), connections_(connections), samples_(samples) {}
  /// Nothing may wait for a word that is about to go.
  ~GateBench() {
    words_.opened().store(kAllOpen);
    cudaDeviceSynchronize();
  }
  GateBench(const GateBench&) = delete;
  GateBench& operator=(const GateBench&) = delete;

  void measure_latencies() {
    for (int i = 0; i < kLatencyRepetitions; ++i) {
      see_ready();
      see_resume();
    }
  }
  void measure_work() {
    choose_piece();
    Opener opener(words_);
    const Seconds warm = monotonic_now() + kWarmUp;
    while (monotonic_now() < warm) (void)work(opener, Gating::kNone);
    for (int i = 0; i < kWorkRepetitions; ++i) {
      add(kWorkAlone, work(opener, Gating::kNone));
      add(kWorkSameStream, work(opener, Gating::kSameStream));
      add(kWorkOtherStream, work(opener, Gating::kOtherStream));
    }
  }

 private:
  enum class Gating : std::uint8_t { kNone, kSameStream, kOtherStream };

  void add(const char* measurement, Seconds sample) {
    samples_.add({measurement, mechanism_, Bytes(0), 0, connections_}, sample);
  }

  void enqueue_ready(const CudaStream& stream, std::uint64_t sequence);
  void enqueue_wait(const CudaStream& stream, std::uint64_t sequence);
  void see_ready();
  void see_resume();
  void choose_piece();
  void add_pieces(int count);
  Seconds work(Opener& opener, Gating gating);

  const char* mechanism_;
  int connections_;
  Samples& samples_;
  GateWords words_;
  CudaStream stream_;
  CudaStream other_;
  CudaEvent begin_{CudaEvent::Timing::kOn};
  CudaEvent end_{CudaEvent::Timing::kOn};
  CudaEvent other_end_;
  DeviceMemory memory_{kLargestPiece};
  std::size_t piece_ = kSmallestPiece;
  std::uint64_t sequence_ = 0;
  HostFunctionMark mark_;
};

void GateBench::enqueue_ready(const CudaStream& stream, std::uint64_t sequence) {
  if (std::string_view(mechanism_) == kMemoryOperations) {
    require_driver(CudaDriver::get().stream_write_value_64(stream.get(), words_.ready_address(),
                                                           sequence, CU_STREAM_WRITE_VALUE_DEFAULT),
                   "let a stream write a word");
  } else {
    mark_ = {.words = &words_, .sequence = sequence};
    require_cuda(cudaLaunchHostFunc(stream.get(), mark_ready, &mark_), "launch a host function");
  }
}

void GateBench::enqueue_wait(const CudaStream& stream, std::uint64_t sequence) {
  require_driver(CudaDriver::get().stream_wait_value_64(stream.get(), words_.opened_address(),
                                                        sequence, CU_STREAM_WAIT_VALUE_GEQ),
                 "let a stream wait for a word");
}

void GateBench::see_ready() {
  const std::uint64_t sequence = ++sequence_;
  spin_for(kPause);
  const Seconds called = monotonic_now();
  enqueue_ready(stream_, sequence);
  const Seconds returned = monotonic_now();
  const Seconds seen =
      spin_until("a ready mark", [&] { return words_.ready().load() == sequence; });
  add(kReadyCall, returned - called - clock_cost());
  add(kReadySeen, seen - returned);
}

void GateBench::see_resume() {
  const std::uint64_t sequence = ++sequence_;
  const Seconds called = monotonic_now();
  enqueue_wait(stream_, sequence);
  add(kWaitOpenCall, monotonic_now() - called - clock_cost());
  enqueue_ready(stream_, sequence);
  spin_for(kBlockedAfter);
  if (words_.ready().load() == sequence) {
    throw CalibrationFailed("a stream went through a closed gate");
  }
  const Seconds stored = monotonic_now();
  words_.opened().store(sequence);
  const Seconds seen =
      spin_until("the mark behind a gate", [&] { return words_.ready().load() == sequence; });
  add(kResumeSeen, seen - stored);
}

void GateBench::add_pieces(int count) {
  for (int i = 0; i < count; ++i) {
    require_cuda(cudaMemsetAsync(memory_.data(), i, piece_, stream_.get()), "set memory");
  }
}

/// The smallest one that the GPU takes longer for than the CPU for its call.
void GateBench::choose_piece() {
  constexpr int kCount = 50;
  for (piece_ = kSmallestPiece; piece_ < kLargestPiece; piece_ *= 2) {
    add_pieces(1);
    record(begin_, stream_);
    add_pieces(kCount);
    record(end_, stream_);
    wait_for(end_);
    if (between(begin_, end_) > kCount * kPiece) return;
  }
}

Seconds GateBench::work(Opener& opener, Gating gating) {
  const std::uint64_t sequence = ++sequence_;
  spin_for(kPause);
  add_pieces(1);
  record(begin_, stream_);
  add_pieces(kPiecesBefore);
  switch (gating) {
    case Gating::kNone:
      break;
    case Gating::kSameStream:
      opener.open_when_ready(sequence);
      enqueue_ready(stream_, sequence);
      enqueue_wait(stream_, sequence);
      break;
    case Gating::kOtherStream:
      opener.open_at(monotonic_now() + kClosedFor, sequence);
      enqueue_ready(other_, sequence);
      enqueue_wait(other_, sequence);
      record(other_end_, other_);
      break;
  }
  add_pieces(kPiecesBehind);
  record(end_, stream_);
  wait_for(end_);
  if (gating == Gating::kOtherStream) wait_for(other_end_);
  return between(begin_, end_);
}

}  // namespace

void measure_gates(Samples& samples) {
  const int connections = max_connections();
  for (const char* mechanism : {kMemoryOperations, kHostFunctions}) {
    GateBench bench(mechanism, connections, samples);
    bench.measure_work();
    bench.measure_latencies();
  }
}

}  // namespace hoccl::hw
