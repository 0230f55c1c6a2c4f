#pragma once

#include <cstdint>
#include <vector>

#include "engine/schedule/compile.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/multicast_legs.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// Multicasts round rings: each from its source to the next rank of the ring that wants it, and so
/// on from rank to rank. Ring k of `options.nics` takes its share of every multicast; it goes
/// through the nodes one after the other, beginning with local rank k of each, so that every ring
/// leaves and enters a node through other NICs.
class RingChain {
 public:
  /// Throws ConfigError for fewer ranks on a node than rings. The map and the options must outlive
  /// this.
  RingChain(const RailMap& rails, const CompileOptions& options, std::vector<Multicast> multicasts);

  [[nodiscard]] bool empty() const { return multicasts_.empty(); }
  /// Appends the transfers of all, with ids from `first` on and stages from `first_stage` on, which
  /// grow along every chain. Throws ConfigError when they exceed kMaxStage.
  void append(std::int64_t first, std::int32_t first_stage, std::vector<Transfer>& transfers) const;

 private:
  /// Ranks in the order of ring k.
  [[nodiscard]] std::vector<Rank> order_of(int ring) const;
  [[nodiscard]] std::vector<Rank> chain_of(const Multicast& multicast,
                                           const std::vector<Rank>& order) const;
  [[nodiscard]] bool rings_are_apart() const;

  /// What goes along one chain: the shares of all rings in which the targets follow each other so.
  struct Share {
    std::vector<Rank> chain;
    std::size_t ring = 0;  ///< the first of them
    std::int64_t rings = 0;
  };
  [[nodiscard]] std::vector<Share> shares_of(const Multicast& multicast) const;

  /// Where the numbering of a chain's hops stands.
  struct Hops {
    std::int64_t next_id = 0;
    std::int32_t first_stage = 0;
    std::int64_t spacing = 1;  ///< between the wire legs of a chain
    std::int64_t lane = 0;     ///< of the chain, below `spacing`
  };
  void append_chain(const Multicast& multicast, const MulticastLegs& legs,
                    const std::vector<Rank>& chain, Hops& hops,
                    std::vector<Transfer>& transfers) const;
  [[nodiscard]] std::int32_t stage_of(const Hops& hops, std::int64_t crossing) const;

  const RailMap& rails_;
  const CompileOptions& options_;
  std::vector<Multicast> multicasts_;
  std::vector<std::vector<Rank>> orders_;  // by ring
};

}  // namespace hoccl::engine
