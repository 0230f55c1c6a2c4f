#include "engine/schedule/port_loads.h"

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

std::size_t device_of(const Topology& topology, GpuId gpu) {
  return static_cast<std::size_t>(topology.gpu(gpu).physical);
}

Bytes& copied(PortLoads& loads, const Topology& topology, GpuId executor, CopyClass copy_class) {
  return loads.copied[device_of(topology, executor)][static_cast<std::size_t>(copy_class)];
}

}  // namespace

PortLoads::PortLoads(const Topology& topology) {
  const auto gpus = static_cast<std::size_t>(topology.gpu_count());
  const auto devices = static_cast<std::size_t>(topology.device_count());
  const auto nics = static_cast<std::size_t>(topology.nic_count());
  nvlink_out.resize(gpus);
  nvlink_in.resize(gpus);
  copied.resize(devices);
  pcie_out.resize(devices);
  pcie_in.resize(devices);
  nic_out.resize(nics);
  nic_in.resize(nics);
  for (std::size_t tier = 0; tier < topology.switch_tiers().size(); ++tier) {
    const auto switches = static_cast<std::size_t>(topology.switch_count(static_cast<int>(tier)));
    switch_up.emplace_back(switches);
    switch_down.emplace_back(switches);
  }
}

void add_direct_copy(PortLoads& loads, const Topology& topology, GpuId source, GpuId target,
                     Bytes size) {
  loads.nvlink_out[source.index()] += size;
  loads.nvlink_in[target.index()] += size;
  copied(loads, topology, source, CopyClass::kPeer) += size;
}

void add_source_side(PortLoads& loads, const Topology& topology, GpuId source, Bytes size) {
  switch (topology.staging()) {
    case StagingKind::kPeer:
      loads.nvlink_out[source.index()] += size;
      copied(loads, topology, source, CopyClass::kPeer) += size;
      return;
    case StagingKind::kHost:
      loads.pcie_out[device_of(topology, source)] += size;
      copied(loads, topology, source, CopyClass::kDeviceToHost) += size;
      return;
  }
}

void add_target_side(PortLoads& loads, const Topology& topology, GpuId target, Bytes size) {
  switch (topology.staging()) {
    case StagingKind::kPeer:
      loads.nvlink_in[target.index()] += size;
      copied(loads, topology, target, CopyClass::kPeer) += size;
      return;
    case StagingKind::kHost:
      loads.pcie_in[device_of(topology, target)] += size;
      copied(loads, topology, target, CopyClass::kHostToDevice) += size;
      return;
  }
}

void add_wire(PortLoads& loads, const Topology& topology, NicId send, NicId receive, Bytes size) {
  loads.nic_out[send.index()] += size;
  loads.nic_in[receive.index()] += size;
  if (topology.wire_shares_pcie()) {
    const PlaceId from = topology.place_of(send);
    const PlaceId into = topology.place_of(receive);
    if (!topology.is_host(from)) {
      loads.pcie_out[device_of(topology, topology.gpu_of(from))] += size;
    }
    if (!topology.is_host(into)) {
      loads.pcie_in[device_of(topology, topology.gpu_of(into))] += size;
    }
  }
  for (int tier = 0; tier < topology.meeting_tier(send, receive); ++tier) {
    const auto level = static_cast<std::size_t>(tier);
    loads.switch_up[level][static_cast<std::size_t>(topology.switch_of(tier, send))] += size;
    loads.switch_down[level][static_cast<std::size_t>(topology.switch_of(tier, receive))] += size;
  }
}

namespace {

void add_slot_in(PortLoads& loads, const Topology& topology, PlaceId place, Bytes size) {
  if (!topology.is_host(place)) loads.nvlink_in[topology.gpu_of(place).index()] += size;
}

void add_slot_out(PortLoads& loads, const Topology& topology, PlaceId place, Bytes size) {
  if (!topology.is_host(place)) loads.nvlink_out[topology.gpu_of(place).index()] += size;
}

/// A deliver out of `place`, by the target's pull.
void add_deliver(PortLoads& loads, const Topology& topology, PlaceId place, Rank target,
                 Bytes size) {
  add_slot_out(loads, topology, place, size);
  add_target_side(loads, topology, topology.gpu_of(target), size);
}

void add_staged(PortLoads& loads, const Topology& topology, const Transfer& transfer) {
  // Staged once, whatever the number of nodes that it goes to.
  add_source_side(loads, topology, topology.gpu_of(transfer.source), transfer.size);
  add_slot_in(loads, topology, topology.place_of(transfer.send_nic), transfer.size);
  const auto add_node = [&](NicId receive, Rank target, const std::vector<Rank>& further) {
    const PlaceId place = topology.place_of(receive);
    add_wire(loads, topology, transfer.send_nic, receive, transfer.size);
    add_deliver(loads, topology, place, target, transfer.size);
    for (const Rank each : further) add_deliver(loads, topology, place, each, transfer.size);
  };
  add_node(transfer.receive_nic, transfer.target, transfer.more_targets);
  for (const Branch& branch : transfer.branches) {
    add_node(branch.receive_nic, branch.target, branch.more_targets);
  }
}

/// The NICs read and write the GPUs' own memory. Where they share its PCIe port that is the wire's
/// load already, unless the slots, and so the places of NICs, are in host memory.
void add_registered(PortLoads& loads, const Topology& topology, const Transfer& transfer) {
  add_wire(loads, topology, transfer.send_nic, transfer.receive_nic, transfer.size);
  if (topology.staging() != StagingKind::kHost) return;
  loads.pcie_out[device_of(topology, topology.gpu_of(transfer.source))] += transfer.size;
  loads.pcie_in[device_of(topology, topology.gpu_of(transfer.target))] += transfer.size;
}

}  // namespace

PortLoads loads_of(const Plan& plan, const Topology& topology) {
  PortLoads loads(topology);
  for (const Transfer& transfer : plan.transfers) {
    const GpuId source = topology.gpu_of(transfer.source);
    switch (transfer.route) {
      case Route::kDirect:
        add_direct_copy(loads, topology, source, topology.gpu_of(transfer.target), transfer.size);
        break;
      case Route::kStaged:
        add_staged(loads, topology, transfer);
        break;
      case Route::kRelayed:
        add_source_side(loads, topology, source, transfer.size);
        add_slot_in(loads, topology, transfer.via, transfer.size);
        add_deliver(loads, topology, transfer.via, transfer.target, transfer.size);
        break;
      case Route::kRegistered:
        add_registered(loads, topology, transfer);
        break;
    }
  }
  return loads;
}

}  // namespace hoccl::engine
