#pragma once

#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/chunk_state.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/options.h"
#include "engine/pipeline/slot_pool.h"

namespace hoccl::engine {

/// The sending half of the staging service of the places one rank hosts (paper: the symmetric GPU
/// of the source). Leases send slots to sources and carries staged chunks over the wire. It knows
/// no plan: lease requests and descriptors tell it everything.
///
/// A send slot is leased only together with a receive slot (credit) at the far end, so every staged
/// chunk can leave and send slots never wait for each other's receivers in a circle.
class SendStager {
 public:
  SendStager(Port& port, const PipelineOptions& options);

  // Each takes the message a proxy received; `source` is the sending rank.
  void lease_requested(Rank source, const LeaseRequestMessage& message);
  void lease_cancelled(const FlowMessage& message);
  void slot_returned(const SlotReference& reference);
  void credited(const CreditMessage& message);
  void staged(const Descriptor& descriptor);
  void written(const WritesDone& done);
  void peer_lost(Rank peer);

  /// Grants slots and posts writes as far as slots, credits and queue depths allow.
  void act();

  /// No slot is leased or in flight and no lease is open.
  [[nodiscard]] bool quiescent() const;
  /// Appends lines for a person.
  void describe(std::string& out) const;

 private:
  struct Link;

  /// One flow of one source that crosses the wire here.
  struct Lease {
    OperationId operation;
    FlowId flow;
    Rank source;
    Rank target;
    Link* link = nullptr;
    std::uint16_t stage = 0;
    std::int32_t to_grant = 0;     ///< chunks that have no slot yet
    std::int32_t outstanding = 0;  ///< slots leased and not yet idle again
    bool cancelled = false;
    LeaseGrantMessage grant;  ///< being collected during act()
  };

  struct Slot {
    SendState state = SendState::kIdle;
    std::uint32_t generation = 0;
    Lease* lease = nullptr;
    SlotReference credit;  ///< the receive slot this chunk will land in
    Descriptor descriptor;
  };

  struct Pool {
    SlotPool<Slot> slots;
    std::vector<Link*> links;
    std::size_t next_link = 0;
  };

  struct QueuePair {
    QueuePairId id;
    Link* link = nullptr;
    Ticket last_done{0};
    std::deque<std::uint16_t> in_flight;  ///< slots, oldest first
  };

  /// A local NIC. Its links take turns.
  struct SendNic {
    int in_flight = 0;
    std::vector<Link*> links;
    std::size_t next_link = 0;
  };

  /// All traffic from one local NIC to one remote NIC.
  struct Link {
    NicId send_nic;
    NicId receive_nic;
    SendNic* nic = nullptr;
    Pool* pool = nullptr;
    Rank remote_host;
    const StagingPlace* remote = nullptr;
    std::vector<QueuePair*> queue_pairs;
    std::deque<SlotReference> credits;
    std::deque<Lease*> waiting;        ///< leases with to_grant > 0, lowest stage first
    std::int64_t to_grant = 0;         ///< sum over waiting
    std::deque<std::uint16_t> outbox;  ///< staged slots not yet posted
  };

  using FlowKey = std::pair<OperationId, FlowId>;
  struct FlowKeyHash {
    std::size_t operator()(const FlowKey& key) const {
      return std::hash<OperationId>{}(key.first) * 31 + std::hash<FlowId>{}(key.second);
    }
  };

  Pool& pool_of(PlaceId place);
  Link& link_between(NicId send_nic, NicId receive_nic);
  void enqueue_waiting(Lease& lease);
  bool grant_one(Pool& pool);
  void send_grant(Lease& lease);
  bool post_one(SendNic& nic);
  void post_write(Link& link, QueuePair& queue_pair);
  void release(Pool& pool, std::uint16_t slot, SendEvent event);
  void cancel(Lease& lease);
  void close_if_done(Lease& lease);
  void return_excess_credits(Link& link);
  void return_credit(Link& link, const SlotReference& credit);
  void write_failed(QueuePair& queue_pair, std::uint16_t slot);

  Port& port_;
  const PipelineOptions& options_;
  std::map<PlaceId, Pool> pools_;
  std::map<NicId, SendNic> nics_;
  std::map<std::pair<NicId, NicId>, Link> links_;
  std::unordered_map<QueuePairId, QueuePair> queue_pairs_;
  std::unordered_map<FlowKey, Lease, FlowKeyHash> leases_;
  std::vector<Lease*> granting_;
};

}  // namespace hoccl::engine
