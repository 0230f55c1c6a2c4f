#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "engine/fabric.h"
#include "hw/stream/gate_words.h"
#include "hw/stream/host_stream.h"

namespace hoccl::hw {

/// The streams of one rank and the gates on them.
class HostStreams {
 public:
  /// `reached` is called on the stream's thread when it passes a ready mark.
  explicit HostStreams(std::function<void(engine::GateReached)> reached);
  ~HostStreams();

  void enqueue_ready(engine::Gate gate, engine::Sequence sequence);
  void enqueue_wait(engine::Gate gate, engine::Sequence sequence);
  void enqueue(engine::StreamId stream, std::function<void()> task);
  void open_gate(engine::Gate gate, engine::Sequence sequence) { gates_.open(gate, sequence); }
  void synchronize(engine::StreamId stream);

  /// Every stream is drained or waits at a closed gate.
  [[nodiscard]] bool idle() const;

 private:
  HostStream& stream(engine::StreamId stream);

  const std::function<void(engine::GateReached)> reached_;
  GateWords gates_;
  mutable std::mutex mutex_;
  std::map<engine::StreamId, std::unique_ptr<HostStream>> streams_;
};

}  // namespace hoccl::hw
