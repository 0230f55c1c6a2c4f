#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// Who gets a node's copy of a multicast out of the slots of its receiving NIC.
struct FanOut {
  std::vector<Rank> pulling;  ///< ascending
  /// The target in whose own memory the slots lie: it must not copy within itself, so that one of
  /// the others passes the bytes on to it. None where the slots are no target's.
  Rank host = Rank::none();
};

FanOut fan_out(const RailMap& rails, const NodeTargets& targets, NicId receive_nic);

/// Transfers of a part of a multicast, `offset` to `offset + size`.
class MulticastLegs {
 public:
  MulticastLegs(const RailMap& rails, const Multicast& multicast, Bytes offset, Bytes size)
      : rails_(rails), multicast_(multicast), offset_(offset), size_(size) {}

  /// From the source's send buffer to one rank of its node.
  [[nodiscard]] Transfer direct(FlowId id, Rank target) const;
  /// From the receive buffer of a rank, once transfer `after` has brought it there.
  [[nodiscard]] Transfer passed_on(FlowId id, Rank holder, Rank target, FlowId after) const;
  /// Over the network to one or more nodes, which have the same send NIC: from the source's send
  /// buffer, or from a holder's receive buffer where `after` is set.
  [[nodiscard]] Transfer staged(FlowId id, Rank holder, FlowId after,
                                std::span<const NodeTargets> nodes,
                                std::span<const NicPair> pairs) const;
  /// What staged() leaves to a peer, if anything: `turn` chooses which.
  [[nodiscard]] std::optional<Transfer> to_host(FlowId id, const FanOut& fan, FlowId staged,
                                                int turn) const;

 private:
  [[nodiscard]] Transfer from_holder(FlowId id, Rank holder, FlowId after) const;

  const RailMap& rails_;
  const Multicast& multicast_;
  Bytes offset_;
  Bytes size_;
};

}  // namespace hoccl::engine
