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
#include "engine/pipeline/messages.h"
#include "engine/pipeline/options.h"
#include "engine/pipeline/patience.h"
#include "engine/pipeline/slot_pool.h"

namespace hoccl::engine {

/// The receiving half of the staging service of the places one rank hosts: promises receive slots
/// (credits) to send stagers, announces landed chunks to their targets, takes slots back when the
/// last target has pulled. Foreground is promised slots before background.
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
    std::array<std::deque<Demand*>, 2> turns;  ///< by class: those with wanted > 0
    Patience patience;
    int promised = 0;                   ///< slots that nothing has landed in yet
    int delivering = 0;                 ///< slots that are announced
    std::vector<std::uint16_t> landed;  ///< slots that are not announced yet
  };

  /// What one remote NIC wants of one local NIC's place, of one class.
  struct Demand {
    NicId send_nic;
    NicId receive_nic;
    FlowClass flow_class = FlowClass::kForeground;
    Rank send_host;
    Pool* pool = nullptr;
    std::int64_t wanted = 0;
    CreditMessage credit;  ///< being collected during act()
  };

  Pool& pool_of(PlaceId place);
  Demand& demand_of(NicId send_nic, NicId receive_nic, FlowClass flow_class);
  void set_wanted(Demand& demand, std::int64_t wanted);
  void announce(Pool& pool, std::uint16_t index);
  void release(Pool& pool, std::uint16_t index, ReceiveEvent event);
  void promise_slots(Pool& pool);
  [[nodiscard]] Demand* next_demand(Pool& pool);
  void send_credit(Demand& demand);

  Port& port_;
  const PipelineOptions& options_;
  std::map<PlaceId, Pool> pools_;
  std::map<std::tuple<NicId, NicId, FlowClass>, Demand> demands_;
  std::vector<Demand*> crediting_;
  std::set<Rank> lost_;
};

}  // namespace hoccl::engine
