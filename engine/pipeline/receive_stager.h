#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/fabric.h"
#include "engine/pattern/flow.h"
#include "engine/pipeline/chunk_state.h"
#include "engine/pipeline/fair_share.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/options.h"
#include "engine/pipeline/patience.h"
#include "engine/pipeline/slot_pool.h"

namespace hoccl::engine {

/// The receiving half of the staging service of the places one rank hosts: promises receive slots
/// (credits) to send stagers, announces landed chunks to their targets, takes slots back when the
/// last target has pulled. Foreground is promised slots before background; communicators get equal
/// parts; then the lowest stage comes first, because its sender is the one that sends now; then
/// whoever has got the smallest part of what he wants.
class ReceiveStager {
 public:
  ReceiveStager(Port& port, const PipelineOptions& options);

  void credits_requested(const CreditCountMessage& message);
  void credits_cancelled(const CreditCountMessage& message);
  void credit_returned(const CreditMessage& message);
  void arrived(const Arrived& arrival);
  void pulled(Rank target, const SlotReference& reference);
  void peer_lost(Rank peer);

  /// Promises free slots to those who asked, in turns.
  void act();
  /// When act() may have something to do although nothing happens.
  [[nodiscard]] std::optional<Seconds> next_deadline() const;

  [[nodiscard]] bool quiescent() const;
  /// Appends lines for a person.
  void describe(std::string& out) const;

 private:
  struct Demand;

  struct Slot {
    ReceiveState state = ReceiveState::kIdle;
    std::uint32_t generation = 0;
    Demand* promised_to = nullptr;
    std::vector<Rank> waiting_for;  ///< targets that have not pulled yet
    Descriptor descriptor;          ///< of the chunk that landed last
  };

  struct Pool {
    SlotPool<Slot> slots;
    /// Those with wanted > 0, by class, communicator and stage; no empty queues.
    std::array<std::map<std::uint16_t, std::map<std::uint16_t, std::deque<Demand*>>>, 2> turns;
    FairShare share;
    Patience patience;
    int promised = 0;                   ///< slots that nothing has landed in yet
    int delivering = 0;                 ///< slots that are announced
    std::vector<std::uint16_t> landed;  ///< slots that are not announced yet
  };

  using DemandKey = std::tuple<NicId, NicId, FlowClass, std::uint16_t, std::uint16_t>;
  /// What one remote NIC wants of one local NIC's place, for one stage of a communicator.
  struct Demand {
    NicId send_nic;
    NicId receive_nic;
    FlowClass flow_class = FlowClass::kForeground;
    std::uint16_t communicator = 0;
    std::uint16_t stage = 0;
    Rank send_host;
    Pool* pool = nullptr;
    std::int64_t wanted = 0;
    std::int64_t promised = 0;  ///< since nothing was wanted
    CreditMessage credit;       ///< being collected during act()
  };

  Pool& pool_of(PlaceId place);
  Demand& demand_of(const CreditCountMessage& message);
  void set_wanted(Demand& demand, std::int64_t wanted);
  void announce(Pool& pool, std::uint16_t index);
  void release(Pool& pool, std::uint16_t index, ReceiveEvent event);
  void promise_slots(Pool& pool);
  [[nodiscard]] Demand* next_demand(Pool& pool);
  void send_credit(Demand& demand);

  Port& port_;
  const PipelineOptions& options_;
  std::map<PlaceId, Pool> pools_;
  std::map<DemandKey, Demand> demands_;
  std::vector<Demand*> crediting_;
  std::set<Rank> lost_;
};

}  // namespace hoccl::engine
