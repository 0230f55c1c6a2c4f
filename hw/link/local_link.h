#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>

#include "engine/fabric.h"
#include "hw/link/link.h"
#include "hw/node/messenger.h"

namespace hoccl::hw {

/// A link whose ranks are all on one host and share memory. Carrying may be another thread's than
/// the proxy's.
class LocalLink : public Link {
 public:
  LocalLink(Messenger& messenger, Doorbell& doorbell);

  engine::QueuePairId queue_pair(engine::NicId local, engine::NicId remote, engine::Rank peer,
                                 int index) final;
  engine::Ticket post_write(engine::QueuePairId queue_pair,
                            const engine::WriteRequest& request) final;
  void post_message(engine::Rank target, const engine::Message& message) final;
  std::optional<LinkEvent> poll() final;
  void peer_lost(engine::Rank peer) final;
  [[nodiscard]] bool idle() const final;

 protected:
  struct QueuePair {
    engine::QueuePairId id;
    engine::NicId local;
    engine::NicId remote;
    engine::Rank peer;
    std::int64_t posted = 0;          ///< posting thread
    std::int64_t reported = 0;        ///< posting thread
    std::deque<std::int64_t> failed;  ///< tickets, ascending; under mutex_
    std::atomic<std::int64_t> done{0};
  };
  struct Write {
    QueuePair* queue_pair = nullptr;
    std::int64_t ticket = 0;
    engine::WriteRequest request;
  };
  /// Moves the bytes, then arrives(); in order per queue pair.
  virtual void carry(const Write& write) = 0;
  /// The write is there: tells the peer, unless it is lost, and completes the write.
  void arrives(const Write& write);

 private:
  Messenger& messenger_;
  Doorbell& doorbell_;
  std::map<std::tuple<engine::NicId, engine::NicId, engine::Rank, int>, engine::QueuePairId> ids_;
  mutable std::mutex mutex_;
  std::deque<QueuePair> queue_pairs_;  ///< by id; its growth under mutex_
  std::set<engine::Rank> lost_;        ///< under mutex_
  std::atomic<std::int64_t> under_way_{0};
};

}  // namespace hoccl::hw
