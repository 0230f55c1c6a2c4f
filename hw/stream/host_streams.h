#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "engine/fabric.h"
#include "hw/stream/gate_words.h"
#include "hw/stream/host_stream.h"
#include "hw/stream/streams.h"

namespace hoccl::hw {

/// Threads in place of a GPU's streams.
class HostStreams final : public Streams {
 public:
  /// `reached` is called on the stream's thread when it passes a ready mark.
  explicit HostStreams(std::function<void(engine::GateReached)> reached);
  ~HostStreams() override;

  void enqueue_ready(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_wait(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_foreground(engine::StreamId stream, ForegroundBoard& board, bool active) override;
  void enqueue(engine::StreamId stream, std::function<void()> task) override;
  void open_gate(engine::Gate gate, engine::Sequence sequence) override {
    gates_.open(gate, sequence);
  }
  void synchronize(engine::StreamId stream) override;
  [[nodiscard]] bool idle() const override;

 private:
  HostStream& stream(engine::StreamId stream);

  const std::function<void(engine::GateReached)> reached_;
  GateWords gates_;
  mutable std::mutex mutex_;
  std::map<engine::StreamId, std::unique_ptr<HostStream>> streams_;
};

}  // namespace hoccl::hw
