#include "engine/schedule/multicast_legs.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {

FanOut fan_out(const RailMap& rails, const NodeTargets& targets, NicId receive_nic) {
  FanOut result;
  const int slots = rails.slot_gpu(receive_nic);
  for (const Rank rank : targets.ranks) {
    if (slots != kNoGpu && rails.gpu_of(rank) == slots) {
      result.host = rank;
    } else {
      result.pulling.push_back(rank);
    }
  }
  HOCCL_CHECK(!result.pulling.empty(), "nobody may pull from NIC {} on node {}", receive_nic,
              targets.node);
  return result;
}

Transfer MulticastLegs::from_holder(FlowId id, Rank holder, FlowId after) const {
  Transfer transfer;
  transfer.id = id;
  transfer.source = holder;
  transfer.target_offset = multicast_.target_offset + offset_;
  transfer.source_offset =
      after.is_none() ? multicast_.source_offset + offset_ : transfer.target_offset;
  transfer.size = size_;
  transfer.flow_class = multicast_.flow_class;
  transfer.after = after;
  return transfer;
}

Transfer MulticastLegs::direct(FlowId id, Rank target) const {
  return passed_on(id, multicast_.source, target, FlowId::none());
}

Transfer MulticastLegs::passed_on(FlowId id, Rank holder, Rank target, FlowId after) const {
  Transfer transfer = from_holder(id, holder, after);
  transfer.target = target;
  return transfer;
}

Transfer MulticastLegs::staged(FlowId id, Rank holder, FlowId after,
                               std::span<const NodeTargets> nodes,
                               std::span<const NicPair> pairs) const {
  Transfer transfer = from_holder(id, holder, after);
  transfer.route = Route::kStaged;
  transfer.send_nic = pairs.front().send;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<Rank> pulling = fan_out(rails_, nodes[i], pairs[i].receive).pulling;
    const Rank first = pulling.front();
    pulling.erase(pulling.begin());
    HOCCL_CHECK(pairs[i].send == transfer.send_nic, "branches from NICs {} and {}", pairs[i].send,
                transfer.send_nic);
    if (i == 0) {
      transfer.receive_nic = pairs[i].receive;
      transfer.target = first;
      transfer.more_targets = std::move(pulling);
    } else {
      transfer.branches.push_back(
          {.receive_nic = pairs[i].receive, .target = first, .more_targets = std::move(pulling)});
    }
  }
  return transfer;
}

std::optional<Transfer> MulticastLegs::to_host(FlowId id, const FanOut& fan, FlowId staged,
                                               int turn) const {
  if (fan.host.is_none()) return std::nullopt;
  // Over all hosts of a node this gives every peer the same number of them.
  const auto place = static_cast<std::size_t>(rails_.index_of(fan.host) + turn);
  return passed_on(id, fan.pulling[place % fan.pulling.size()], fan.host, staged);
}

}  // namespace hoccl::engine
