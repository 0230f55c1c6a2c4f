#include "hw/calibrate/call_bench.h"

#include <cstdint>

#include "hw/calibrate/copy_path_raii.h"
#include "hw/calibrate/spin.h"
#include "hw/calibrate/what_is_measured.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

constexpr int kRepetitions = 12;
constexpr int kCalls = 24;
constexpr int kBatches = 4;

void CUDART_CB do_nothing(void*) {}

}  // namespace

void measure_copy_calls(CopyPath& path, Samples& samples) {
  const CudaStream stream;
  const CudaEvent event;
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    path.keep_busy(stream);
    for (int i = 0; i < kCalls; ++i) {
      const SeriesKey copy{kCopyCall, path.name(), kCallSize};
      samples.add(copy, time_of([&] { path.copy(stream, kCallSize); }));
      const SeriesKey recorded{kEventCall, path.name(), kCallSize};
      samples.add(recorded, time_of([&] { record(event, stream); }));
    }
    wait_for(event);
    for (const int count : kBatchCounts) {
      path.keep_busy(stream);
      for (int i = 0; i < kBatches; ++i) {
        path.choose_batch(kCallSize, count);
        samples.add({kBatchCall, path.name(), kCallSize, count},
                    time_of([&] { path.copy_batch(stream); }));
      }
      record(event, stream);
      wait_for(event);
    }
  }
}

void measure_stream_calls(Samples& samples) {
  const CudaStream stream;
  const CudaStream other;
  const CudaEvent done;
  const CudaEvent last;
  const PinnedMemory word(sizeof(std::uint64_t));
  const auto address = reinterpret_cast<CUdeviceptr>(word.data());
  const CudaDriver& driver = CudaDriver::get();
  record(done, stream);
  wait_for(done);
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    for (int i = 0; i < kCalls; ++i) {
      samples.add({kClockCall, "clock"}, time_of([] {}) + clock_cost());
      samples.add({kWriteCall, "alone"}, time_of([&] {
                    require_driver(driver.stream_write_value_64(stream.get(), address, 1,
                                                                CU_STREAM_WRITE_VALUE_DEFAULT),
                                   "let a stream write a word");
                  }));
      samples.add({kWaitCall, "open"}, time_of([&] {
                    require_driver(driver.stream_wait_value_64(stream.get(), address, 1,
                                                               CU_STREAM_WAIT_VALUE_GEQ),
                                   "let a stream wait for a word");
                  }));
      samples.add({kHostFunctionCall, "alone"}, time_of([&] {
                    require_cuda(cudaLaunchHostFunc(stream.get(), do_nothing, nullptr),
                                 "launch a host function");
                  }));
      samples.add({kWaitEventCall, "done"}, time_of([&] {
                    require_cuda(cudaStreamWaitEvent(other.get(), done.get(), 0),
                                 "let a stream wait for an event");
                  }));
      record(last, stream);
      samples.add({kWaitEventCall, "pending"}, time_of([&] {
                    require_cuda(cudaStreamWaitEvent(other.get(), last.get(), 0),
                                 "let a stream wait for an event");
                  }));
    }
    wait_for(last);
  }
}

}  // namespace hoccl::hw
