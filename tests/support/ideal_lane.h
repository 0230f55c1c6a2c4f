#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "tests/support/dma_transfer.h"
#include "tests/support/ideal_world.h"

namespace hoccl::engine {

/// A FIFO of batches of copies. The copies of a batch run in any order and are done together.
class IdealLane {
 public:
  IdealLane(IdealWorld& world, Rank rank, Lane lane) : world_(world), rank_(rank), lane_(lane) {}

  Ticket post(const CopyRequest& request);
  void flush();
  /// The proxy has seen all copies up to `ticket` end.
  void polled(Ticket ticket);
  /// The rank dies: what has not started never does, what has may finish.
  void die(bool finishes);
  /// From now on the rank's copies touch no memory.
  void revoke();

 private:
  using Copies = std::vector<std::shared_ptr<DmaTransfer>>;

  void check(const CopyRequest& request, const Accessor& accessor) const;
  void start_next();
  void start(const Copies& batch, Seconds end);
  void end(const Copies& batch);
  void report(Ticket ticket, Outcome outcome);

  IdealWorld& world_;
  Rank rank_;
  Lane lane_;
  std::int64_t last_ticket_ = 0;
  Copies open_;
  std::deque<Copies> waiting_;
  bool busy_ = false;
  Copies unpolled_;
  EventQueue::Channel visible_;
};

}  // namespace hoccl::engine
