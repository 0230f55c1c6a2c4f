#pragma once

#include <vector>

#include "engine/base/ids.h"
#include "engine/topology/topology.h"
#include "sim/calibration/calibration.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

/// The ports of a topology as links of the network, at calibrated rates, and the routes over them.
/// `device` is a physical GPU, cluster-wide (engine::Gpu::physical).
class LinkMap {
 public:
  LinkMap(const engine::Topology& topology, const Calibration& calibration, Network& network);

  [[nodiscard]] LinkId nvlink_out(int device) const { return devices_.at(index(device)).out; }
  [[nodiscard]] LinkId nvlink_in(int device) const { return devices_.at(index(device)).in; }
  [[nodiscard]] LinkId nic_send(engine::NicId nic) const { return nics_.at(nic.index()).send; }
  [[nodiscard]] LinkId nic_receive(engine::NicId nic) const {
    return nics_.at(nic.index()).receive;
  }

  /// From the memory of one GPU to another's: out of the one that holds the source, into the one
  /// that holds the target, whoever executes the copy.
  [[nodiscard]] RouteId peer_route(int source_device, int target_device) const;
  /// Between a GPU and host memory. Both directions together share the port's duplex capacity.
  [[nodiscard]] RouteId to_host_route(int device) const;
  [[nodiscard]] RouteId from_host_route(int device) const;
  /// From NIC to NIC: uplinks and downlinks of the switch tiers below the one where they meet,
  /// and the PCIe ports of the GPUs whose memory is read and written where those are shared.
  [[nodiscard]] RouteId wire_route(engine::NicId source, engine::NicId target) const;
  /// The same between user buffers, which lie in GPUs also where slots lie in host memory.
  [[nodiscard]] RouteId buffer_wire_route(engine::NicId source, engine::NicId target) const;

 private:
  struct DeviceLinks {
    LinkId out;  ///< NVLink
    LinkId in;
    LinkId to_host;  ///< PCIe
    LinkId from_host;
    LinkId host_duplex;  ///< both directions
  };
  struct NicLinks {
    LinkId send;
    LinkId receive;
  };
  struct SwitchLinks {
    LinkId up;
    LinkId down;
  };

  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  void add_devices(const Calibration& calibration);
  void add_nics(const Calibration& calibration);
  void add_switches(const Calibration& calibration);
  /// The device whose PCIe port a NIC's slots are behind, or -1.
  [[nodiscard]] int slot_device(engine::NicId nic) const;
  /// The device whose PCIe port the user buffers next to a NIC are behind, or -1.
  [[nodiscard]] int buffer_device(engine::NicId nic) const;
  [[nodiscard]] RouteId route_between(engine::NicId source, int source_device, engine::NicId target,
                                      int target_device) const;

  const engine::Topology& topology_;
  Network& network_;
  std::vector<DeviceLinks> devices_;
  std::vector<NicLinks> nics_;                      ///< empty on a map wire, where nothing moves
  std::vector<std::vector<SwitchLinks>> switches_;  ///< by tier
};

}  // namespace hoccl::sim
