#include "experiments/contention/copy_load.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "engine/base/check.h"
#include "experiments/contention/load_memory_raii.h"
#include "hw/cuda/copy_batch_raii.h"
#include "hw/cuda/cuda_devices.h"
#include "hw/cuda/cuda_error.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::contention {
namespace {

using engine::Bytes;
using engine::Seconds;
using hw::CopyBatch;
using hw::CudaError;
using hw::CudaEvent;
using hw::CudaStream;
using hw::require_cuda;
using Clock = std::chrono::steady_clock;

// What is in flight covers what the host takes to notice (5 us): at 55 GB/s that is 0.3 MB.
constexpr Bytes kInFlight{32 << 20};
constexpr std::int64_t kFewestInFlight = 2;
constexpr std::int64_t kMostInFlight = 32;

/// A region of memory that units of equal size go through, over and over.
struct Ring {
  std::byte* data;
  Bytes unit;
  std::int64_t units;

  Ring(std::byte* begin, Bytes size, Bytes unit_size)
      : data(begin), unit(unit_size), units(size / unit_size) {
    HOCCL_CHECK(units >= 1, "a region of {} B for units of {} B", size.count(), unit_size.count());
  }
  [[nodiscard]] std::byte* at(std::int64_t number) const {
    return data + (number % units * unit).count();
  }
};

/// One direction: units posted in turn to its streams, completed in order per stream.
class Flow {
 public:
  Flow(Ring source, Ring target, const CopyLoadOptions& options)
      : source_(source),
        target_(target),
        chunk_(static_cast<std::size_t>(options.chunk.count())),
        batch_(static_cast<std::size_t>(options.batch)),
        streams_(static_cast<std::size_t>(options.streams)),
        depth_(std::clamp(kInFlight / source.unit, kFewestInFlight, kMostInFlight)),
        events_(static_cast<std::size_t>(depth_)) {}

  [[nodiscard]] std::int64_t posted() const { return posted_; }
  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] bool has_room() const { return posted_ - done_ < depth_; }
  [[nodiscard]] Bytes unit() const { return source_.unit; }

  void post() {
    const CudaStream& stream = stream_of(posted_);
    enqueue(target_.at(posted_), source_.at(posted_), stream);
    require_cuda(cudaEventRecord(event_of(posted_).get(), stream.get()), "record an event");
    ++posted_;
  }

  /// Units count as done in the order of posting; with two streams that is late by at most one.
  void poll() {
    while (done_ < posted_) {
      const cudaError_t state = cudaEventQuery(event_of(done_).get());
      if (state == cudaErrorNotReady) return;
      require_cuda(state, "copy");
      ++done_;
    }
  }

  void ask_idly() {
    const cudaError_t state = cudaStreamQuery(streams_.front().get());
    if (state != cudaErrorNotReady) require_cuda(state, "ask a stream");
  }

  void drain() {
    for (const CudaStream& stream : streams_) {
      require_cuda(cudaStreamSynchronize(stream.get()), "wait for copies");
    }
    done_ = posted_;
  }

 private:
  [[nodiscard]] const CudaStream& stream_of(std::int64_t number) const {
    return streams_[static_cast<std::size_t>(number) % streams_.size()];
  }
  [[nodiscard]] const CudaEvent& event_of(std::int64_t number) const {
    return events_[static_cast<std::size_t>(number % depth_)];
  }

  void enqueue(std::byte* target, const std::byte* source, const CudaStream& stream) const {
    if (batch_ == 1) {
      require_cuda(cudaMemcpyAsync(target, source, chunk_, cudaMemcpyDefault, stream.get()),
                   "copy");
      return;
    }
    CopyBatch batch;
    for (std::size_t i = 0; i < batch_; ++i) {
      batch.add(target + i * chunk_, source + i * chunk_, chunk_);
    }
    batch.post(stream.get());
  }

  Ring source_;
  Ring target_;
  std::size_t chunk_;
  std::size_t batch_;
  std::vector<CudaStream> streams_;
  std::int64_t depth_;
  std::vector<CudaEvent> events_;
  std::int64_t posted_ = 0;
  std::int64_t done_ = 0;
};

class CopyLoad : public Load {
 public:
  CopyLoad(const CopyLoadOptions& options, const LoadMemory& memory)
      : options_(options),
        host_slots_(options.host_region / unit(options)),
        to_host_(Ring(memory.device_source.data(), options.device_region, unit(options)),
                 Ring(memory.host.data(), options.host_region, unit(options)), options),
        to_device_(Ring(memory.host.data() + read_offset(options, memory), options.host_region,
                        unit(options)),
                   Ring(memory.device_target.data(), options.device_region, unit(options)),
                   options) {}

  ~CopyLoad() override {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void start() override {
    thread_ = std::thread([this] { run(); });
    const auto deadline = Clock::now() + std::chrono::seconds(1);
    while (!flows()) {
      if (Clock::now() > deadline) throw CudaError("the copies do not flow");
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  [[nodiscard]] Moved moved() const override {
    return {.to_host = Bytes(to_host_bytes_), .to_device = Bytes(to_device_bytes_), .by_sms = {}};
  }

  void stop() override {
    stopping_ = true;
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  static Bytes unit(const CopyLoadOptions& options) { return options.chunk * options.batch; }

  /// Where H2D reads: what D2H wrote, or its own half.
  static std::size_t read_offset(const CopyLoadOptions& options, const LoadMemory& memory) {
    return options.to_host && !options.staged ? memory.host.size() / 2 : 0;
  }

  [[nodiscard]] bool flows() const {
    if (failed_) return true;  // stop() tells
    const std::int64_t enough = (unit(options_) * 2).count();
    return (!options_.to_host || to_host_bytes_ >= enough) &&
           (!options_.to_device || to_device_bytes_ >= enough);
  }

  void run() {
    try {
      hw::use_cuda_device(0);
      const Clock::time_point begin = Clock::now();
      while (!stopping_) step(Clock::now() - begin);
      to_host_.drain();
      to_device_.drain();
    } catch (const CudaError&) {
      failure_ = std::current_exception();
      failed_ = true;
    }
  }

  void step(Seconds elapsed) {
    if (!options_.to_host && !options_.to_device) to_host_.ask_idly();
    to_host_.poll();
    to_device_.poll();
    if (options_.to_host && to_host_.has_room() && within_limit(to_host_, elapsed) &&
        (!options_.staged || to_host_.posted() - to_device_.done() < host_slots_)) {
      to_host_.post();
    }
    if (options_.to_device && to_device_.has_room() && within_limit(to_device_, elapsed) &&
        (!options_.staged || to_device_.posted() < to_host_.done())) {
      to_device_.post();
    }
    to_host_bytes_ = (to_host_.unit() * to_host_.done()).count();
    to_device_bytes_ = (to_device_.unit() * to_device_.done()).count();
  }

  [[nodiscard]] bool within_limit(const Flow& flow, Seconds elapsed) const {
    return options_.limit.value() == 0 || flow.unit() * flow.posted() / options_.limit <= elapsed;
  }

  CopyLoadOptions options_;
  std::int64_t host_slots_;
  Flow to_host_;
  Flow to_device_;
  std::atomic<std::int64_t> to_host_bytes_ = 0;
  std::atomic<std::int64_t> to_device_bytes_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Load> copy_load(const CopyLoadOptions& options, const LoadMemory& memory) {
  return std::make_unique<CopyLoad>(options, memory);
}

}  // namespace hoccl::contention
