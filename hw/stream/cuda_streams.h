#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "hw/cuda/cuda_raii.h"
#include "hw/fabric/hw_options.h"
#include "hw/stream/stream_marks.h"
#include "hw/stream/streams.h"

namespace hoccl::hw {

/// CUDA streams and the gates on them. A gate has two 64-bit words in page-locked memory of the
/// host: `ready`, which the stream writes and the proxy polls, and `done`, which the proxy writes
/// and the stream waits for (greater or equal). Nothing ever spins on a thread of the driver's.
class CudaStreams final : public Streams {
 public:
  /// `reached` is called by host functions only.
  CudaStreams(int device, GateKind kind, std::function<void(engine::GateReached)> reached);
  ~CudaStreams() override;

  /// From now on `id` is the application's own stream, which must outlive this. Throws ConfigError
  /// for the legacy default stream, which would make every blocking stream of the process wait at
  /// our gates.
  void adopt(engine::StreamId id, cudaStream_t stream);

  // These throw ConfigError while the stream is captured into a graph: a replay would pass old
  // gates.
  void enqueue_ready(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_wait(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_foreground(engine::StreamId stream, ForegroundBoard& board, bool active) override;
  void enqueue(engine::StreamId stream, std::function<void()> task) override;
  void synchronize(engine::StreamId stream) override;
  void require_healthy(engine::StreamId stream) override;

  void open_gate(engine::Gate gate, engine::Sequence sequence) override;
  std::optional<engine::GateReached> poll() override;
  [[nodiscard]] bool must_be_polled() const override { return unreached_.load() > 0; }
  [[nodiscard]] bool idle() const override;

 private:
  /// On lines of their own: `done` is the CPU's, `ready` the GPU's (or its host function's).
  struct Words {
    alignas(64) std::atomic<std::uint64_t> ready;
    alignas(64) std::atomic<std::uint64_t> done;
  };
  struct GateState {
    Words* words = nullptr;
    engine::Sequence enqueued = 0;  ///< last ready mark that poll() will tell
    engine::Sequence reached = 0;   ///< last one told
    engine::Sequence waited = 0;    ///< last wait
  };

  cudaStream_t stream_of(engine::StreamId id);
  cudaStream_t usable_stream(engine::StreamId id);
  GateState& state_of(engine::Gate gate);
  void mark(StreamMarks::Kind kind, engine::Gate gate, engine::Sequence sequence);
  void pass(StreamMarks& marks) const;

  const int device_;
  const GateKind kind_;
  const std::function<void(engine::GateReached)> reached_;
  mutable std::mutex mutex_;
  std::map<engine::StreamId, CudaStream> own_;
  std::map<engine::StreamId, cudaStream_t> streams_;  ///< own and adopted
  std::vector<std::unique_ptr<PinnedMemory>> pages_;  ///< of words
  std::size_t words_used_ = 0;
  std::map<engine::Gate, GateState> gates_;
  mutable std::map<engine::StreamId, StreamMarks> marks_;
  std::atomic<std::int64_t> unreached_{0};  ///< of all gates, enqueued - reached
};

}  // namespace hoccl::hw
