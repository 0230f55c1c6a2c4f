#pragma once

#include <functional>
#include <optional>

#include "engine/fabric.h"

namespace hoccl::hw {

class ForegroundBoard;

/// The streams of one rank and the gates on them. The application's side is any thread's;
/// open_gate(), poll() and must_be_polled() are the polling thread's.
class Streams {
 public:
  virtual ~Streams() = default;

  virtual void enqueue_ready(engine::Gate gate, engine::Sequence sequence) = 0;
  virtual void enqueue_wait(engine::Gate gate, engine::Sequence sequence) = 0;
  /// Writes the stream's word on the board when the stream gets there.
  virtual void enqueue_foreground(engine::StreamId stream, ForegroundBoard& board, bool active) = 0;
  /// Runs `task` when the stream gets there; the stream goes on when it has ended.
  virtual void enqueue(engine::StreamId stream, std::function<void()> task) = 0;
  /// Blocks until the stream has done all that was enqueued.
  virtual void synchronize(engine::StreamId stream) = 0;
  /// Throws when the stream has failed, so that what was enqueued never ends.
  virtual void require_healthy(engine::StreamId) {}

  virtual void open_gate(engine::Gate gate, engine::Sequence sequence) = 0;
  /// Ready marks that were passed and that nobody was told of.
  virtual std::optional<engine::GateReached> poll() { return std::nullopt; }
  /// A ready mark may be passed without a bell.
  [[nodiscard]] virtual bool must_be_polled() const { return false; }

  /// Every stream is drained or waits at a closed gate.
  [[nodiscard]] virtual bool idle() const = 0;
};

}  // namespace hoccl::hw
