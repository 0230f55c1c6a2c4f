#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "engine/fabric.h"
#include "hw/node/record_ring.h"

namespace hoccl::hw {

/// Something a rank of another node has told this one.
struct Received {
  engine::Rank sender;
  Record record;
};
/// The peer can touch no memory of this rank any more, and nothing of it is to come.
struct Gone {
  engine::Rank peer;
};
using LinkEvent = std::variant<engine::WritesDone, Received, Gone>;

/// The NICs that one rank may use, their queue pairs, and the way to ranks that share no memory
/// with it. One thread at a time, the proxy's.
class Link {
 public:
  virtual ~Link() = default;

  virtual engine::QueuePairId queue_pair(engine::NicId local, engine::NicId remote,
                                         engine::Rank peer, int index) = 0;
  virtual engine::Ticket post_write(engine::QueuePairId queue_pair,
                                    const engine::WriteRequest& request) = 0;
  /// To a rank that is no member of this one's node.
  virtual void post_message(engine::Rank target, const engine::Message& message) = 0;
  /// What has happened since it was last asked, one thing at a time.
  virtual std::optional<LinkEvent> poll() = 0;
  /// Whether poll() has something. Links whose events all ring the doorbell need not look.
  virtual bool look() { return false; }
  /// Before the proxy sleeps: from now on what happens rings the doorbell. Returns what look()
  /// does.
  virtual bool arm() { return false; }

  /// Writes to this rank end with an error from now on. A peer that is no member of the node yields
  /// Gone when it cannot touch memory any more.
  virtual void peer_lost(engine::Rank peer) = 0;
  /// Ends what there is between this rank and one that talks nonsense; as if it were lost. False:
  /// that is for the node to do.
  virtual bool expel(engine::Rank /*peer*/) { return false; }
  /// Nothing is under way.
  [[nodiscard]] virtual bool idle() const = 0;

  // User buffers, which this rank has or which a rank that shares no memory with it has. Links that
  // map what they write leave all of it to the node.

  /// Yields BufferRegistered and BufferImported to the node's `completed`.
  virtual bool register_buffer(engine::BufferHandle /*buffer*/) { return false; }
  virtual bool import_buffer(engine::BufferHandle /*buffer*/) { return false; }
  virtual void release_buffer(engine::BufferHandle /*buffer*/) {}

  /// For people: the NICs and how they reach the slots; empty where there are none.
  [[nodiscard]] virtual std::string description() const { return {}; }
  /// For tests of what follows: the index-th queue pair that is connected (modulo their number)
  /// fails. False: there is none. Of the proxy's thread.
  virtual bool break_queue_pair(std::uint64_t /*index*/) { return false; }
};

}  // namespace hoccl::hw
