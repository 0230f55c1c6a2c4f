#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "engine/base/units.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

class NcclKernel;
class NcclPipe;

/// What copies on an SM: told when it may go on.
class NcclWorker {
 public:
  virtual ~NcclWorker() = default;
  /// Begins the next slice if none is being copied and one is ready.
  virtual void serve() = 0;
};

/// One channel's share of one transfer, on one side.
struct NcclPart {
  NcclKernel* kernel = nullptr;
  NcclWorker* worker = nullptr;
  NcclPipe* pipe = nullptr;
  int channel = 0;
  bool sending = false;
  engine::Bytes remaining;
};

/// One direction of one channel between two ranks: NCCL's FIFO of slots. The sending kernel may run
/// ahead of the receiving one by the slots, and no further: this is where the two meet. Transfers
/// of a pair use it in the order in which their kernels began.
class NcclPipe {
 public:
  virtual ~NcclPipe() = default;
  NcclPipe(const NcclPipe&) = delete;
  NcclPipe& operator=(const NcclPipe&) = delete;

  /// The kernel has begun; the part waits for its turn.
  void open(NcclPart& part);
  /// All of the part's bytes are through its side.
  void close(NcclPart& part);

  /// Whether the part's worker can copy a slice now: its turn, a free slot or a filled one.
  [[nodiscard]] bool is_ready(const NcclPart& part) const;
  /// Reserves what is_ready() promised. A sender's slice is of `size`, at most step().
  void begin_send(const NcclPart& part, engine::Bytes size);
  /// The same for a receiver; returns the size of the slice.
  engine::Bytes begin_receive(const NcclPart& part);
  /// The slice begun last on this side has been copied. Closes the part when it was the last.
  void end(NcclPart& part, engine::Bytes size);

  /// Bytes of a slot.
  [[nodiscard]] engine::Bytes step() const { return step_; }
  /// The links that this side's copy crosses, or none for a copy within the GPU's own memory.
  [[nodiscard]] virtual std::optional<RouteId> copy_route(bool sending) const = 0;

 protected:
  NcclPipe(engine::Bytes step, std::int64_t slot_count) : step_(step), slot_count_(slot_count) {}

  [[nodiscard]] std::int64_t slot_count() const { return slot_count_; }
  /// A slot the sender may fill again.
  void slot_freed();
  /// A slot the receiver can read.
  void slot_filled(engine::Bytes size);

 private:
  virtual void on_written(engine::Bytes size) = 0;
  virtual void on_drained() = 0;
  static void wake(const std::deque<NcclPart*>& parts);

  engine::Bytes step_;
  std::int64_t slot_count_;
  std::int64_t used_slots_ = 0;       ///< of the sender's FIFO
  std::deque<engine::Bytes> filled_;  ///< of the receiver's FIFO
  std::deque<NcclPart*> senders_;     ///< front has its turn
  std::deque<NcclPart*> receivers_;
};

}  // namespace hoccl::sim
