#include "sim/fabric/link_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::NicId;

namespace {

/// Collects the links of one route.
class Path {
 public:
  void add(LinkId link) {
    HOCCL_CHECK(count_ < links_.size(), "a route has more than {} links", links_.size());
    links_[count_++] = link;
  }
  [[nodiscard]] std::span<const LinkId> links() const { return {links_.data(), count_}; }

 private:
  std::array<LinkId, Network::kMaxRouteLinks> links_;
  std::size_t count_ = 0;
};

}  // namespace

LinkMap::LinkMap(const engine::Topology& topology, const Calibration& calibration, Network& network)
    : topology_(topology), network_(network) {
  add_devices(calibration);
  if (topology.wire() == engine::WireKind::kMap) return;
  add_nics(calibration);
  add_switches(calibration);
}

void LinkMap::add_devices(const Calibration& calibration) {
  const engine::NvlinkRates nvlink = topology_.nvlink();
  const engine::PcieRates pcie = topology_.pcie();
  const auto add = [this](int device, std::string_view port, engine::BytesPerSecond rate) {
    return network_.add_link(fmt::format("gpu {} {}", device, port), rate);
  };
  for (int device = 0; device < topology_.device_count(); ++device) {
    DeviceLinks links;
    links.out = add(device, "nvlink out", nvlink.out * calibration.nvlink.efficiency);
    links.in = add(device, "nvlink in", nvlink.in * calibration.nvlink.efficiency);
    links.to_host = add(device, "pcie to host", pcie.one_way * calibration.pcie.efficiency);
    links.from_host = add(device, "pcie from host", pcie.one_way * calibration.pcie.efficiency);
    links.host_duplex =
        add(device, "pcie both ways", pcie.duplex_sum() * calibration.pcie.efficiency);
    devices_.push_back(links);
  }
}

void LinkMap::add_nics(const Calibration& calibration) {
  for (int nic = 0; nic < topology_.nic_count(); ++nic) {
    const engine::BytesPerSecond rate = topology_.nic(NicId(nic)).rate * calibration.nic.efficiency;
    NicLinks links;
    links.send = network_.add_link(fmt::format("nic {} send", nic), rate);
    links.receive = network_.add_link(fmt::format("nic {} receive", nic), rate);
    nics_.push_back(links);
  }
}

void LinkMap::add_switches(const Calibration& calibration) {
  for (int tier = 0; tier < static_cast<int>(topology_.switch_tiers().size()); ++tier) {
    const std::string& name = topology_.switch_tiers()[index(tier)].name;
    std::vector<SwitchLinks>& switches = switches_.emplace_back();
    for (int each = 0; each < topology_.switch_count(tier); ++each) {
      // Uplinks carry the same headers as the NICs below.
      const engine::BytesPerSecond rate =
          topology_.uplink_rate(tier, each) * calibration.nic.efficiency;
      SwitchLinks links;
      links.up = network_.add_link(fmt::format("{} {} up", name, each), rate);
      links.down = network_.add_link(fmt::format("{} {} down", name, each), rate);
      switches.push_back(links);
    }
  }
}

RouteId LinkMap::peer_route(int source_device, int target_device) const {
  HOCCL_CHECK(source_device != target_device, "copy within device {}", source_device);
  return network_.add_route(std::array{nvlink_out(source_device), nvlink_in(target_device)});
}

RouteId LinkMap::to_host_route(int device) const {
  const DeviceLinks& links = devices_.at(index(device));
  return network_.add_route(std::array{links.to_host, links.host_duplex});
}

RouteId LinkMap::from_host_route(int device) const {
  const DeviceLinks& links = devices_.at(index(device));
  return network_.add_route(std::array{links.from_host, links.host_duplex});
}

int LinkMap::slot_device(NicId nic) const {
  const engine::PlaceId place = topology_.place_of(nic);
  if (!topology_.wire_shares_pcie() || topology_.is_host(place)) return -1;
  return topology_.gpu(topology_.gpu_of(place)).physical;
}

int LinkMap::buffer_device(NicId nic) const {
  const bool slots_in_host = topology_.staging() == engine::StagingKind::kHost;
  if (!topology_.wire_shares_pcie() && !slots_in_host) return -1;
  return topology_.gpu(topology_.nic(nic).gpu).physical;
}

RouteId LinkMap::wire_route(NicId source, NicId target) const {
  return route_between(source, slot_device(source), target, slot_device(target));
}

RouteId LinkMap::buffer_wire_route(NicId source, NicId target) const {
  return route_between(source, buffer_device(source), target, buffer_device(target));
}

RouteId LinkMap::route_between(NicId source, int source_device, NicId target,
                               int target_device) const {
  Path path;
  if (source_device >= 0) {
    path.add(devices_[index(source_device)].to_host);
    path.add(devices_[index(source_device)].host_duplex);
  }
  path.add(nic_send(source));
  const int meeting_tier = topology_.meeting_tier(source, target);
  for (int tier = 0; tier < meeting_tier; ++tier) {
    path.add(switches_[index(tier)][index(topology_.switch_of(tier, source))].up);
  }
  for (int tier = meeting_tier - 1; tier >= 0; --tier) {
    path.add(switches_[index(tier)][index(topology_.switch_of(tier, target))].down);
  }
  path.add(nic_receive(target));
  if (target_device >= 0) {
    path.add(devices_[index(target_device)].from_host);
    path.add(devices_[index(target_device)].host_duplex);
  }
  return network_.add_route(path.links());
}

}  // namespace hoccl::sim
