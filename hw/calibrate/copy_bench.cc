#include "hw/calibrate/copy_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hw/calibrate/copy_path_raii.h"
#include "hw/calibrate/what_is_measured.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

constexpr int kRepetitions = 15;
/// Enough that the events around them do not count, and few enough to be handed over in time.
constexpr int kCopies = 64;
constexpr Bytes kMostBytes = 256_MiB;
constexpr int kFewestBatches = 6;
constexpr int kDuplexCopies = 24;
constexpr int kDuplexCounted = 16;

int copies_of(Bytes size) {
  return static_cast<int>(std::clamp<std::int64_t>(kMostBytes / size, 4, kCopies));
}

/// One sample per repetition from `measure`, which may fail to give one.
template <class Measure>
void repeat(const SeriesKey& key, Samples& samples, Measure measure) {
  int missed = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const std::optional<Seconds> sample = measure();
    if (sample) {
      samples.add(key, *sample);
    } else {
      ++missed;
    }
  }
  if (missed > 0) {
    samples.note(
        fmt::format("{} {} {} x {}: {} of {} samples left out: the engine was faster than "
                    "the CPU",
                    key.measurement, key.subject, engine::to_string(key.size), key.count, missed,
                    kRepetitions));
  }
}

/// Per copy, with `signal` called behind each.
template <class Signal>
std::optional<Seconds> time_copies(CopyPath& path, EngineStopwatch& watch, const CudaStream& stream,
                                   Bytes size, Signal signal) {
  const int count = copies_of(size);
  watch.start(stream);
  for (int i = 0; i < count; ++i) {
    path.copy(stream, size);
    signal();
  }
  const std::optional<Seconds> time = watch.stop(stream);
  if (!time) return std::nullopt;
  return *time / count;
}

}  // namespace

void measure_copies(CopyPath& path, Samples& samples) {
  const CudaStream stream;
  EngineStopwatch watch(path);
  for (const Bytes size : kEngineSizes) {
    repeat({kEngineTime, path.name(), size, 1}, samples,
           [&] { return time_copies(path, watch, stream, size, [] {}); });
  }
}

void measure_signals(CopyPath& path, Samples& samples) {
  const CudaStream stream;
  EngineStopwatch watch(path);
  const CudaEvent event;
  const PinnedMemory word(sizeof(std::uint64_t));
  const auto address = reinterpret_cast<CUdeviceptr>(word.data());
  for (const Bytes size : kSignalSizes) {
    const auto key = [&](const char* signal) {
      return SeriesKey{kSignalEngineTime, fmt::format("{}+{}", path.name(), signal), size, 1};
    };
    repeat(key("nothing"), samples, [&] { return time_copies(path, watch, stream, size, [] {}); });
    repeat(key("event"), samples,
           [&] { return time_copies(path, watch, stream, size, [&] { record(event, stream); }); });
    repeat(key("write"), samples, [&] {
      return time_copies(path, watch, stream, size, [&] {
        require_driver(CudaDriver::get().stream_write_value_64(stream.get(), address, 1,
                                                               CU_STREAM_WRITE_VALUE_DEFAULT),
                       "let a stream write a word");
      });
    });
  }
}

void measure_batches(CopyPath& path, Samples& samples) {
  const CudaStream stream;
  EngineStopwatch watch(path);
  for (const Bytes size : kBatchSizes) {
    for (const int count : kBatchCounts) {
      const int batches = std::max(kFewestBatches, 2 * copies_of(size) / count);
      repeat({kBatchTime, path.name(), size, count}, samples, [&]() -> std::optional<Seconds> {
        watch.start(stream);
        for (int i = 0; i < batches; ++i) {
          path.choose_batch(size, count);
          path.copy_batch(stream);
        }
        const std::optional<Seconds> time = watch.stop(stream);
        if (!time) return std::nullopt;
        return *time / batches;
      });
    }
  }
}

void measure_streams(CopyPath& path, Samples& samples) {
  EngineStopwatch watch(path);
  std::vector<CudaStream> streams(kStreamEndCount);
  std::vector<CudaEvent> ends;
  for (int i = 0; i < kStreamEndCount; ++i) ends.emplace_back(CudaEvent::Timing::kOn);
  for (const Bytes size : kStreamsSizes) {
    const int count = copies_of(size) / 2;
    repeat({kStreamsTime, path.name(), size, 2}, samples, [&]() -> std::optional<Seconds> {
      watch.start(streams[0]);
      watch.join(streams[1]);
      for (int i = 0; i < count; ++i) {
        path.copy(streams[0], size);
        path.copy(streams[1], size);
      }
      record(ends[1], streams[1]);
      require_cuda(cudaStreamWaitEvent(streams[0].get(), ends[1].get(), 0), "let a stream wait");
      const std::optional<Seconds> time = watch.stop(streams[0]);
      if (!time) return std::nullopt;
      return *time / (2 * count);
    });
  }
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    watch.start(streams[0]);
    for (std::size_t i = 1; i < streams.size(); ++i) watch.join(streams[i]);
    for (std::size_t i = 0; i < streams.size(); ++i) {
      path.copy(streams[i], kStreamEndSize);
      record(ends[i], streams[i]);
    }
    for (std::size_t i = 1; i < streams.size(); ++i) {
      require_cuda(cudaStreamWaitEvent(streams[0].get(), ends[i].get(), 0), "let a stream wait");
    }
    if (!watch.stop(streams[0])) continue;
    std::vector<Seconds> times;
    for (const CudaEvent& end : ends) times.push_back(watch.until(end));
    std::ranges::sort(times);
    for (int place = 1; place <= kStreamEndCount; ++place) {
      samples.add({kStreamEnd, path.name(), kStreamEndSize, place},
                  times[static_cast<std::size_t>(place - 1)]);
    }
  }
}

/// Counted are the first copies of each direction, during which both have some left.
void measure_both_ways(CopyPath& path, CopyPath& other, Samples& samples) {
  EngineStopwatch watch(path);
  const CudaStream stream;
  const CudaStream other_stream;
  const CudaEvent end(CudaEvent::Timing::kOn);
  const CudaEvent other_end(CudaEvent::Timing::kOn);
  const CudaEvent other_last;
  for (const Bytes size : kDuplexSizes) {
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      watch.start(stream);
      watch.join(other_stream);
      for (int i = 1; i <= kDuplexCopies; ++i) {
        path.copy(stream, size);
        other.copy(other_stream, size);
        if (i != kDuplexCounted) continue;
        record(end, stream);
        record(other_end, other_stream);
      }
      record(other_last, other_stream);
      require_cuda(cudaStreamWaitEvent(stream.get(), other_last.get(), 0), "let a stream wait");
      if (!watch.stop(stream)) continue;
      samples.add({kDuplexTime, path.name(), size, 1}, watch.until(end) / kDuplexCounted);
      samples.add({kDuplexTime, other.name(), size, 1}, watch.until(other_end) / kDuplexCounted);
    }
  }
}

}  // namespace hoccl::hw
