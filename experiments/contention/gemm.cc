#include "experiments/contention/gemm.h"

#include <cublas_v2.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "experiments/contention/kernels.h"
#include "hw/cuda/cuda_error.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::contention {
namespace {

using engine::Seconds;
using hw::CudaError;
using hw::CudaEvent;
using hw::require_cuda;

constexpr int kProductsPerGroup = 10;
constexpr std::size_t kAhead = 32;
constexpr std::uint64_t kProbeNs = 50'000;
constexpr std::size_t kMaxGroups = 64;
constexpr std::size_t kBytesPerNumber = 2;  // bf16

void require_cublas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw CudaError(
      fmt::format("{}: {}: {}", what, cublasGetStatusName(status), cublasGetStatusString(status)));
}

Seconds elapsed(const CudaEvent& begin, const CudaEvent& end) {
  float milliseconds = 0;
  require_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "read events");
  return Seconds(static_cast<double>(milliseconds) * 1e-3);
}

std::vector<CudaEvent> timed_events(std::size_t count) {
  std::vector<CudaEvent> events;
  for (std::size_t i = 0; i < count; ++i) events.emplace_back(CudaEvent::Timing::kOn);
  return events;
}

}  // namespace

struct Gemm::State {
  State(int n, MatrixData data)
      : order(n),
        a(bytes(n)),
        b(bytes(n)),
        c(bytes(n)),
        readings(kMaxGroups * sizeof(ClockReading)),
        group_events(timed_events(kMaxGroups * (kProductsPerGroup + 1))),
        loop_events(timed_events(kAhead + 1)) {
    require_cublas(cublasCreate(&handle), "start cuBLAS");
    require_cublas(cublasSetStream(handle, stream.get()), "give cuBLAS a stream");
    require_cuda(cudaDeviceSynchronize(), "zero the matrices");
    if (data == MatrixData::kRandom) {
      const std::size_t count = bytes(n) / kBytesPerNumber;
      enqueue_random_fill(a.data(), count, 1, stream);
      enqueue_random_fill(b.data(), count, 2, stream);
    }
    require_cuda(cudaStreamSynchronize(stream.get()), "fill the matrices");
  }
  ~State() { cublasDestroy(handle); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static std::size_t bytes(int n) {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * kBytesPerNumber;
  }

  void multiply() const {
    const float one = 1;
    const float zero = 0;
    require_cublas(
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &one, a.data(),
                     CUDA_R_16BF, order, b.data(), CUDA_R_16BF, order, &zero, c.data(), CUDA_R_16BF,
                     order, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "multiply");
  }

  void record(const CudaEvent& event) const {
    require_cuda(cudaEventRecord(event.get(), stream.get()), "record an event");
  }

  ClockReading* reading(std::size_t group) const {
    return reinterpret_cast<ClockReading*>(readings.data()) + group;
  }

  int order;
  hw::CudaStream stream;
  hw::DeviceMemory a, b, c;
  hw::PinnedMemory readings;
  std::vector<CudaEvent> group_events;
  std::vector<CudaEvent> loop_events;
  std::size_t looped = 0;
  cublasHandle_t handle = nullptr;
};

Gemm::Gemm(int order, MatrixData data) : state_(std::make_unique<State>(order, data)) {}

Gemm::~Gemm() = default;

double Gemm::operations() const {
  const double n = state_->order;
  return 2 * n * n * n;
}

Gemm::Burst Gemm::run(int groups) {
  const std::size_t count = static_cast<std::size_t>(groups);
  if (count > kMaxGroups) throw CudaError("a burst has at most 64 groups");
  auto event = state_->group_events.begin();
  for (std::size_t group = 0; group < count; ++group) {
    state_->record(*event++);
    for (int i = 0; i < kProductsPerGroup; ++i) {
      state_->multiply();
      state_->record(*event++);
    }
    enqueue_clock_probe(state_->reading(group), kProbeNs, state_->stream);
  }
  require_cuda(cudaStreamSynchronize(state_->stream.get()), "multiply");
  Burst burst;
  event = state_->group_events.begin();
  for (std::size_t group = 0; group < count; ++group, ++event) {
    for (int i = 0; i < kProductsPerGroup; ++i, ++event) {
      burst.times.push_back(elapsed(*event, *(event + 1)));
    }
    const ClockReading& reading = *state_->reading(group);
    burst.sm_clock_mhz.push_back(static_cast<double>(reading.cycles) * 1e3 /
                                 static_cast<double>(reading.duration_ns));
  }
  return burst;
}

Seconds Gemm::enqueue_one() {
  const auto event_of = [this](std::size_t number) -> const CudaEvent& {
    return state_->loop_events[number % state_->loop_events.size()];
  };
  Seconds time{0};
  if (state_->looped > kAhead) {
    const CudaEvent& begin = event_of(state_->looped - kAhead - 1);
    const CudaEvent& end = event_of(state_->looped - kAhead);
    require_cuda(cudaEventSynchronize(end.get()), "multiply");
    time = elapsed(begin, end);
  }
  state_->multiply();
  state_->record(event_of(state_->looped));
  ++state_->looped;
  return time;
}

}  // namespace hoccl::contention
