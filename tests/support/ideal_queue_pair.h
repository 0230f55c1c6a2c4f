#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tests/support/dma_transfer.h"
#include "tests/support/ideal_world.h"

namespace hoccl::engine {

/// A reliable connection between two NICs: writes land in the order they were posted.
class IdealQueuePair {
 public:
  IdealQueuePair(IdealWorld& world, Rank rank, QueuePairId id, NicId local, NicId remote, Rank peer)
      : world_(world), rank_(rank), id_(id), local_(local), remote_(remote), peer_(peer) {}

  Ticket post(const WriteRequest& request);
  /// The proxy has seen all writes up to `ticket` end.
  void polled(Ticket ticket);
  /// The rank dies: what has not started never does, what has may finish.
  void die(bool finishes);
  /// From now on the rank's writes touch no memory.
  void revoke();

 private:
  struct Write {
    WriteRequest request;
    std::shared_ptr<DmaTransfer> dma;
  };

  void check_slots(const WriteRequest& request, const Accessor& accessor) const;
  void check_user_buffers(const WriteRequest& request, const Accessor& accessor) const;
  void start_next();
  void fail(const Write& write);
  void land(const Write& write);
  void report(Ticket ticket, Outcome outcome);
  [[nodiscard]] bool target_is_dead() const;

  IdealWorld& world_;
  Rank rank_;
  QueuePairId id_;
  NicId local_;
  NicId remote_;
  Rank peer_;
  std::int64_t last_ticket_ = 0;
  std::deque<Write> waiting_;
  bool busy_ = false;
  std::vector<std::shared_ptr<DmaTransfer>> unpolled_;
  EventQueue::Channel landing_;
  EventQueue::Channel arrivals_;
  EventQueue::Channel completions_;
};

}  // namespace hoccl::engine
