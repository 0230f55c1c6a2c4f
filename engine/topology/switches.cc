// The switch tiers above the NICs: which switch a NIC is below, and what its uplink carries.
#include "engine/base/check.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

const SwitchTier& tier_at(std::span<const SwitchTier> tiers, int tier) {
  HOCCL_CHECK(tier >= 0 && static_cast<std::size_t>(tier) < tiers.size(), "tier {} of {}", tier,
              tiers.size());
  return tiers[static_cast<std::size_t>(tier)];
}

}  // namespace

int Topology::switch_count(int tier) const {
  const SwitchTier& layer = tier_at(switch_tiers(), tier);
  const int groups = (node_count() + layer.nodes_per_switch - 1) / layer.nodes_per_switch;
  return layer.rail_aligned ? groups * rail_count() : groups;
}

int Topology::switch_of(int tier, NicId nic) const {
  const SwitchTier& layer = tier_at(switch_tiers(), tier);
  const Nic& below = this->nic(nic);
  const int group = below.node.value() / layer.nodes_per_switch;
  return layer.rail_aligned ? group * rail_count() + below.rail : group;
}

BytesPerSecond Topology::uplink_rate(int tier, int switch_index) const {
  const SwitchTier& layer = tier_at(switch_tiers(), tier);
  BytesPerSecond below(0.0);
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    if (switch_of(tier, NicId(i)) == switch_index) below = below + nics_[i].rate;
  }
  return below * (1.0 / layer.oversubscription);
}

int Topology::meeting_tier(NicId source, NicId target) const {
  const auto tiers = static_cast<int>(switch_tiers().size());
  for (int tier = 0; tier < tiers; ++tier) {
    if (switch_of(tier, source) == switch_of(tier, target)) return tier;
  }
  return tiers;
}

}  // namespace hoccl::engine
