#include "hw/stream/cuda_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/config_error.h"
#include "hw/cuda/cuda_devices.h"
#include "hw/cuda/driver_raii.h"
#include "hw/node/foreground_board.h"

namespace hoccl::hw {

using engine::ConfigError;
using engine::Gate;
using engine::GateReached;
using engine::Sequence;
using engine::StreamId;

namespace {

constexpr std::size_t kPageSize = 4096;

/// Page-locked memory has the same address on the GPU (unified addressing).
template <class Word>
CUdeviceptr on_gpu(const std::atomic<Word>& word) {
  return reinterpret_cast<CUdeviceptr>(&word);
}

}  // namespace

CudaStreams::CudaStreams(int device, GateKind kind, std::function<void(GateReached)> reached)
    : device_(device), kind_(kind), reached_(std::move(reached)) {}

CudaStreams::~CudaStreams() {
  // What waits would wait for ever, and a stream that is not drained must not be destroyed: its
  // words are ours. Not the largest number: streams compare as in a circle.
  for (auto& [gate, state] : gates_) state.words->done.store(state.waited);
  for (const auto& [id, stream] : streams_) cudaStreamSynchronize(stream);
}

void CudaStreams::adopt(StreamId id, cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) {
    throw ConfigError(fmt::format(
        "stream {}: is CUDA's legacy default stream, whose gates all blocking streams would wait "
        "at; expected a stream of its own or cudaStreamPerThread",
        id));
  }
  const std::scoped_lock lock(mutex_);
  streams_[id] = stream;
}

cudaStream_t CudaStreams::stream_of(StreamId id) {
  const std::scoped_lock lock(mutex_);
  const auto known = streams_.find(id);
  if (known != streams_.end()) return known->second;
  use_cuda_device(device_);
  return streams_[id] = own_[id].get();
}

cudaStream_t CudaStreams::usable_stream(StreamId id) {
  use_cuda_device(device_);
  const cudaStream_t stream = stream_of(id);
  cudaStreamCaptureStatus capture{};
  require_cuda(cudaStreamIsCapturing(stream, &capture), "ask whether a stream is captured");
  if (capture != cudaStreamCaptureStatusNone) {
    throw ConfigError(fmt::format(
        "stream {}: is being captured into a graph, whose replays would find old gates open; "
        "expected communication outside of captures",
        id));
  }
  return stream;
}

/// Under the lock of the caller.
auto CudaStreams::state_of(Gate gate) -> GateState& {
  GateState& state = gates_[gate];
  if (state.words != nullptr) return state;
  constexpr std::size_t kPerPage = kPageSize / sizeof(Words);
  if (words_used_ % kPerPage == 0) pages_.push_back(std::make_unique<PinnedMemory>(kPageSize));
  // Zeroed memory is a pair of words at zero.
  state.words = reinterpret_cast<Words*>(pages_.back()->data()) + words_used_++ % kPerPage;
  return state;
}

/// Under the lock of the caller.
void CudaStreams::mark(StreamMarks::Kind kind, Gate gate, Sequence sequence) {
  StreamMarks& marks = marks_[gate.stream];
  pass(marks);
  marks.add(kind, gate, sequence);
}

/// Under the lock of the caller.
void CudaStreams::pass(StreamMarks& marks) const {
  marks.pass([this](Gate gate) { return gates_.at(gate).words->ready.load(); },
             [this](Gate gate) { return gates_.at(gate).words->done.load(); });
}

void CudaStreams::enqueue_ready(Gate gate, Sequence sequence) {
  const cudaStream_t stream = usable_stream(gate.stream);
  Words* words = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    mark(StreamMarks::Kind::kReady, gate, sequence);
    GateState& state = state_of(gate);
    words = state.words;
    if (kind_ == GateKind::kMemoryOperations) {
      unreached_.fetch_add(static_cast<std::int64_t>(sequence - state.enqueued));
      state.enqueued = sequence;
    }
  }
  switch (kind_) {
    case GateKind::kMemoryOperations:
      require_driver(CudaDriver::get().stream_write_value_64(stream, on_gpu(words->ready), sequence,
                                                             CU_STREAM_WRITE_VALUE_DEFAULT),
                     "enqueue the write of a gate's word");
      return;
    case GateKind::kHostFunctions:
      enqueue(gate.stream, [this, words, gate, sequence] {
        reached_({gate, sequence});
        words->ready.store(sequence);
      });
      return;
  }
}

void CudaStreams::enqueue_wait(Gate gate, Sequence sequence) {
  const cudaStream_t stream = usable_stream(gate.stream);
  Words* words = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    mark(StreamMarks::Kind::kWait, gate, sequence);
    GateState& state = state_of(gate);
    words = state.words;
    state.waited = sequence;
  }
  require_driver(CudaDriver::get().stream_wait_value_64(stream, on_gpu(words->done), sequence,
                                                        CU_STREAM_WAIT_VALUE_GEQ),
                 "enqueue the wait at a gate");
}

void CudaStreams::enqueue_foreground(StreamId id, ForegroundBoard& board, bool active) {
  require_driver(
      CudaDriver::get().stream_write_value_32(usable_stream(id), on_gpu(board.word(id)),
                                              active ? 1 : 0, CU_STREAM_WRITE_VALUE_DEFAULT),
      "enqueue the write of a foreground word");
}

void CudaStreams::enqueue(StreamId id, std::function<void()> task) {
  auto owned = std::make_unique<std::function<void()>>(std::move(task));
  const auto run = [](void* raw) {
    const std::unique_ptr<std::function<void()>> taken(static_cast<std::function<void()>*>(raw));
    (*taken)();
  };
  require_cuda(cudaLaunchHostFunc(usable_stream(id), run, owned.get()), "enqueue a host function");
  owned.release();  // run() frees it
}

void CudaStreams::synchronize(StreamId id) {
  const cudaStream_t stream = stream_of(id);
  require_cuda(cudaStreamSynchronize(stream), "wait for a stream");
}

void CudaStreams::require_healthy(StreamId id) {
  const cudaError_t result = cudaStreamQuery(stream_of(id));
  if (result != cudaErrorNotReady) require_cuda(result, "look at a stream");
}

void CudaStreams::open_gate(Gate gate, Sequence sequence) {
  const std::scoped_lock lock(mutex_);
  std::atomic<std::uint64_t>& done = state_of(gate).words->done;
  if (done.load(std::memory_order_relaxed) < sequence) {
    done.store(sequence, std::memory_order_release);
  }
}

std::optional<GateReached> CudaStreams::poll() {
  if (unreached_.load() == 0) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  for (auto& [gate, state] : gates_) {
    if (state.reached == state.enqueued) continue;
    const Sequence ready = state.words->ready.load(std::memory_order_acquire);
    if (ready == state.reached) continue;
    unreached_.fetch_sub(static_cast<std::int64_t>(ready - state.reached));
    state.reached = ready;
    return GateReached{gate, ready};
  }
  return std::nullopt;
}

bool CudaStreams::idle() const {
  const std::scoped_lock lock(mutex_);
  return std::ranges::all_of(streams_, [this](const auto& entry) {
    if (cudaStreamQuery(entry.second) != cudaErrorNotReady) return true;
    StreamMarks& marks = marks_[entry.first];
    pass(marks);
    return marks.at_closed_gate();
  });
}

}  // namespace hoccl::hw
