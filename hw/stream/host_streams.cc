#include "hw/stream/host_streams.h"

#include <utility>

#include "hw/node/foreground_board.h"

namespace hoccl::hw {

using engine::Gate;
using engine::Sequence;
using engine::StreamId;

HostStreams::HostStreams(std::function<void(engine::GateReached)> reached)
    : reached_(std::move(reached)) {}

HostStreams::~HostStreams() {
  // First, so that nothing behind a gate that never opened is started.
  for (const auto& [id, stream] : streams_) stream->stop();
  gates_.close_down();
}

HostStream& HostStreams::stream(StreamId id) {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<HostStream>& stream = streams_[id];
  if (stream == nullptr) stream = std::make_unique<HostStream>();
  return *stream;
}

void HostStreams::enqueue_ready(Gate gate, Sequence sequence) {
  enqueue(gate.stream, [this, gate, sequence] { reached_({gate, sequence}); });
}

void HostStreams::enqueue_wait(Gate gate, Sequence sequence) {
  enqueue(gate.stream, [this, gate, sequence] { gates_.wait(gate, sequence); });
}

void HostStreams::enqueue_foreground(StreamId id, ForegroundBoard& board, bool active) {
  enqueue(id, [&board, id, active] { board.write(id, active); });
}

void HostStreams::enqueue(StreamId id, std::function<void()> task) {
  stream(id).enqueue(std::move(task));
}

void HostStreams::synchronize(StreamId id) { stream(id).synchronize(); }

bool HostStreams::idle() const {
  const std::scoped_lock lock(mutex_);
  int busy = 0;
  for (const auto& [id, stream] : streams_) busy += stream->drained() ? 0 : 1;
  return busy == gates_.waiting();
}

}  // namespace hoccl::hw
