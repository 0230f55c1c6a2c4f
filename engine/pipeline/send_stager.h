#pragma once

#include <array>
#include <compare>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/chunk_state.h"
#include "engine/pipeline/fair_share.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/options.h"
#include "engine/pipeline/patience.h"
#include "engine/pipeline/slot_pool.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// The sending half of the staging service of the places one rank hosts (paper: the symmetric GPU
/// of the source). Leases send slots to sources and carries staged chunks over the wire, or offers
/// them to a target of the same node. It knows no plan: lease requests and descriptors tell it
/// everything.
///
/// A send slot is leased only together with a receive slot (credit) at every far end, taken in the
/// order of the places there, the send slot last. So every staged chunk can leave, and chunks that
/// wait for slots never wait for each other in a circle.
///
/// Who goes first: foreground; then the communicator that was served least; then the lowest stage;
/// then flows in proportion to their size (chunk k of m at (k + 1/2) / m, paper §3.4).
class SendStager {
 public:
  SendStager(Port& port, const PipelineOptions& options);

  // Each takes the message a proxy received; `source` is the sending rank.
  void lease_branch(Rank source, const LeaseBranchMessage& message);
  void lease_requested(Rank source, const LeaseRequestMessage& message);
  void lease_cancelled(const FlowMessage& message);
  void slot_returned(const SlotReference& reference);
  void credited(const CreditMessage& message);
  void staged(const Descriptor& descriptor);
  void pulled(const SlotReference& reference);
  void written(const WritesDone& done);
  void peer_lost(Rank peer);

  /// Grants slots and posts writes as far as slots, credits and queue depths allow.
  void act();
  /// When act() may have something to do although nothing happens.
  [[nodiscard]] std::optional<Seconds> next_deadline() const;

  /// No slot is leased or in flight and no lease is open.
  [[nodiscard]] bool quiescent() const;
  /// Appends lines for a person.
  void describe(std::string& out) const;

 private:
  struct Link;
  struct Lease;

  /// One far node of a lease.
  struct Leg {
    Link* link = nullptr;
    Rank target;
    std::array<std::uint32_t, 3> local_targets{};  ///< none: as the source's descriptor says
    std::uint16_t stage = 0;
    std::int32_t passed = 0;          ///< chunks that have, or had, a receive slot there
    std::deque<SlotReference> taken;  ///< receive slots of chunks that wait further on
  };

  /// One stage of one flow of one source.
  struct Lease {
    OperationId operation;
    FlowId flow;
    std::uint16_t stage = 0;
    FlowClass flow_class = FlowClass::kForeground;
    Rank source;
    std::vector<Leg> legs;  ///< by receive place; a relayed flow has one, on a link without NICs
    std::int32_t requested = 0;
    std::int32_t first = 0;        ///< asked for and closed before
    std::int32_t total = 0;        ///< of flow and stage, for its turns
    std::int32_t outstanding = 0;  ///< slots leased and not yet idle again
    std::int32_t sent = 0;
    bool cancelled = false;
    LeaseGrantMessage grant;  ///< being collected during act()

    [[nodiscard]] std::int32_t granted() const { return legs.back().passed; }
    /// Chunks that wait for a receive slot of this leg (for the last one: and a send slot).
    [[nodiscard]] std::int32_t waiting_at(std::size_t leg) const {
      return (leg == 0 ? requested : legs[leg - 1].passed) - legs[leg].passed;
    }
  };

  /// The next chunk of a lease that wants a receive slot of a link.
  struct Waiting {
    std::uint16_t stage;
    double position;
    std::int64_t order;  ///< first come, first served
    Lease* lease;
    std::size_t leg;

    bool operator<(const Waiting& other) const {
      return std::tie(stage, position, order) < std::tie(other.stage, other.position, other.order);
    }
  };
  using Sharer = std::pair<FlowClass, std::uint16_t>;               ///< class, communicator
  using Ask = std::tuple<FlowClass, std::uint16_t, std::uint16_t>;  ///< class, communicator, stage

  struct Slot {
    SendState state = SendState::kIdle;
    std::uint32_t generation = 0;
    Lease* lease = nullptr;
    std::array<SlotReference, 1 + kMaxBranches> credits;  ///< by leg
    std::size_t unwritten = 0;                            ///< legs
    bool staged = false;
    Descriptor descriptor;
  };

  struct Pool {
    SlotPool<Slot> slots;
    std::vector<Link*> links;    ///< by Link::number
    std::set<std::size_t> able;  ///< links that have credits or need none
    std::size_t next_link = 0;
    FairShare share;
    std::map<Ask, std::int64_t> wanted;            ///< chunks that wait at its links; no zeros
    std::set<std::pair<Ask, std::size_t>> asking;  ///< and links: credits that were not asked for
    std::size_t relaying = 0;                      ///< slots of chunks that stay in the node
    int copying = 0;                               ///< slots that are being filled
    int sending = 0;       ///< slots with a leg in an outbox or on the wire, or being pulled
    bool filling = false;  ///< slots are given until none is left
    Patience patience;
  };

  /// A leg of a slot.
  struct SlotLeg {
    std::uint16_t slot = 0;
    std::uint16_t leg = 0;
  };

  struct QueuePair {
    QueuePairId id;
    Link* link = nullptr;
    Ticket last_done{0};
    std::deque<SlotLeg> in_flight;  ///< oldest first
  };

  /// A local NIC. Its links take turns within a stage.
  struct SendNic {
    int in_flight = 0;
    std::vector<Link*> links;
    std::size_t next_link = 0;
  };

  /// All traffic from one local NIC to one remote NIC; or, without NICs, what a place relays inside
  /// its node.
  struct Link {
    NicId send_nic;
    NicId receive_nic;
    SendNic* nic = nullptr;
    Pool* pool = nullptr;
    std::size_t number = 0;  ///< in the pool
    Rank remote_host;
    const StagingPlace* remote = nullptr;
    std::vector<QueuePair*> queue_pairs;
    int in_flight = 0;  ///< writes, over all queue pairs
    std::deque<SlotReference> credits;
    std::map<Sharer, std::set<Waiting>> waiting;  ///< no empty sets
    std::int64_t wanted = 0;                      ///< chunks that wait, over all
    std::map<Ask, std::int64_t> wanted_by;        ///< the same by what is asked for; no zeros
    std::map<Ask, std::int32_t> unasked;          ///< of them, those no credit was asked for yet
    std::array<std::deque<SlotLeg>, 2> outbox;    ///< by class: staged, not yet posted

    [[nodiscard]] bool is_local() const { return send_nic.is_none(); }
  };
  /// A chunk that may take a turn.
  struct Choice {
    Sharer sharer;
    std::int64_t served = 0;
    Waiting waiting;
    Link* link = nullptr;
  };

  using LeaseKey = std::tuple<OperationId, FlowId, std::uint16_t>;
  struct LeaseKeyHash {
    std::size_t operator()(const LeaseKey& key) const {
      return (std::hash<OperationId>{}(std::get<0>(key)) * 31 +
              std::hash<FlowId>{}(std::get<1>(key))) *
                 31 +
             std::get<2>(key);
    }
  };

  // send_leases.cc
  Link& link_between(NicId send_nic, NicId receive_nic);
  Link& local_link(PlaceId place);
  static void join_pool(Link& link);
  Lease& open_lease(Rank source, const LeaseRequestMessage& message);
  void add_legs(Lease& lease, Rank source, const LeaseRequestMessage& message);
  void enter(Lease& lease, std::size_t leg, std::int32_t chunks);
  void queue(Lease& lease, std::size_t leg);
  void unqueue(Lease& lease, std::size_t leg);
  void cancel(Lease& lease);
  void cancel_leg(Lease& lease, std::size_t leg);
  void close_if_done(Lease& lease);
  void ask_for_credits();
  /// A chunk for several nodes is one unit: its first credit is of its first stage. From then on it
  /// holds a slot at a far end, so that it must not wait for other chunks' stages: two places could
  /// wait for each other's.
  static Ask ask_of(const Lease& lease, std::size_t leg) {
    const std::uint16_t stage = leg == 0 ? lease.stage : std::uint16_t{0};
    return {lease.flow_class, lease.operation.communicator, stage};
  }
  [[nodiscard]] static bool may_ask(const Pool& pool, const Ask& ask);
  void want(Lease& lease, std::size_t leg, std::int32_t chunks);
  [[nodiscard]] static std::int32_t unasked_of(const Link& link, const Ask& ask);
  static void set_unasked(Link& link, const Ask& ask, std::int32_t chunks);
  static void credit_taken(Link& link, const Ask& ask);
  void post_credit_count(MessageKind kind, const Link& link, const Ask& ask, std::int32_t count);
  void return_excess_credits(Link& link);
  void return_early_credits(Link& link);
  void return_last_credit(Link& link);
  void return_credit(Link& link, const SlotReference& credit);
  void return_credits(const Slot& slot);
  [[nodiscard]] static bool touches(const Lease& lease, Rank host);
  void revoke_unfilled(Lease& lease);
  void revoke_offered(Pool& pool, std::uint16_t slot);

  // send_stager.cc
  Pool& pool_of(PlaceId place);
  static Sharer sharer_of(const Lease& lease) {
    return {lease.flow_class, lease.operation.communicator};
  }
  bool pass_one(Pool& pool);
  [[nodiscard]] std::optional<Choice> choose(Pool& pool) const;
  [[nodiscard]] bool may_have_slot(const Pool& pool, const Choice& choice) const;
  [[nodiscard]] static bool foreground_waits(const Pool& pool);
  [[nodiscard]] static std::uint16_t lowest_stage(const Pool& pool);
  void pass(Lease& lease, std::size_t leg);
  [[nodiscard]] bool waits_for_batch(const Pool& pool) const;
  void grant(Pool& pool, Lease& lease);
  void send_grant(Lease& lease);
  bool post_one(SendNic& nic);
  void post_write(Link& link, QueuePair& queue_pair, SlotLeg slot_leg);
  void leg_done(Pool& pool, SlotLeg slot_leg);
  void release(Pool& pool, std::uint16_t slot, SendEvent event);
  void write_failed(QueuePair& queue_pair, SlotLeg slot_leg);

  Port& port_;
  const PipelineOptions& options_;
  std::map<PlaceId, Pool> pools_;
  std::map<NicId, SendNic> nics_;
  std::map<std::pair<NicId, NicId>, Link> links_;
  std::map<PlaceId, Link> local_links_;
  std::unordered_map<QueuePairId, QueuePair> queue_pairs_;
  std::unordered_map<LeaseKey, Lease, LeaseKeyHash> leases_;
  std::map<std::pair<OperationId, FlowId>, std::vector<LeaseBranchMessage>> branches_;
  std::vector<Lease*> granting_;
  std::set<Rank> lost_;
  std::int64_t next_order_ = 0;
};

}  // namespace hoccl::engine
