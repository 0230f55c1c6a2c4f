#include "engine/schedule/path_check.h"

#include <algorithm>
#include <string_view>

#include "engine/schedule/predecessors.h"

namespace hoccl::engine {
namespace {

class PathCheck {
 public:
  PathCheck(const Plan& plan, const Topology& topology, Violations& violations)
      : plan_(plan), topology_(topology), violations_(violations) {}

  void check() {
    const std::vector<std::size_t> predecessors = predecessors_of(plan_);
    for (std::size_t i = 0; i < plan_.transfers.size(); ++i) {
      const Transfer& transfer = plan_.transfers[i];
      switch (transfer.route) {
        case Route::kDirect:
          check_direct(transfer);
          break;
        case Route::kStaged:
          check_staged(transfer);
          break;
        case Route::kRelayed:
          check_relayed(transfer);
          break;
        case Route::kRegistered:
          check_registered(transfer);
          break;
      }
      if (predecessors[i] != kNoTransfer) {
        check_after(transfer, plan_.transfers[predecessors[i]]);
      }
    }
  }

 private:
  void check_direct(const Transfer& transfer);
  void check_staged(const Transfer& transfer);
  void check_relayed(const Transfer& transfer);
  void check_registered(const Transfer& transfer);
  void check_after(const Transfer& transfer, const Transfer& before);
  void check_branch_nodes(const Transfer& transfer);
  void check_receiver(const Transfer& transfer, NicId nic, Rank target,
                      const std::vector<Rank>& further);
  void check_nic(const Transfer& transfer, std::string_view use, NicId nic, Rank rank);
  void check_place(const Transfer& transfer, NicId nic, Rank end_point, std::string_view leg);
  void check_own(const Transfer& transfer, std::string_view use, NicId nic, Rank rank);

  [[nodiscard]] int device_of(GpuId gpu) const { return topology_.gpu(gpu).physical; }
  [[nodiscard]] int device_of(Rank rank) const { return device_of(topology_.gpu_of(rank)); }

  const Plan& plan_;
  const Topology& topology_;
  Violations& violations_;
};

void PathCheck::check_direct(const Transfer& transfer) {
  const NodeId source = topology_.node_of(transfer.source);
  const NodeId target = topology_.node_of(transfer.target);
  if (device_of(transfer.source) == device_of(transfer.target)) {
    violations_.add(transfer, "copies within GPU {}, from rank {} to rank {}",
                    device_of(transfer.source), transfer.source, transfer.target);
  } else if (source != target) {
    violations_.add(transfer, "direct from node {} to node {}: expected the staged route", source,
                    target);
  }
}

void PathCheck::check_staged(const Transfer& transfer) {
  const NodeId source = topology_.node_of(transfer.source);
  if (source == topology_.node_of(transfer.target)) {
    violations_.add(transfer, "staged inside node {}: expected the direct route", source);
  }
  check_nic(transfer, "send", transfer.send_nic, transfer.source);
  check_place(transfer, transfer.send_nic, transfer.source, "stage-in");
  check_receiver(transfer, transfer.receive_nic, transfer.target, transfer.more_targets);
  for (const Branch& branch : transfer.branches) {
    check_receiver(transfer, branch.receive_nic, branch.target, branch.more_targets);
  }
  check_branch_nodes(transfer);
}

void PathCheck::check_branch_nodes(const Transfer& transfer) {
  std::vector<NodeId> nodes = {topology_.node_of(transfer.source),
                               topology_.node_of(transfer.target)};
  for (const Branch& branch : transfer.branches) {
    const NodeId node = topology_.node_of(branch.target);
    if (std::ranges::find(nodes, node) != nodes.end()) {
      violations_.add(transfer, "branch to rank {} on node {}, {}: expected a further node",
                      branch.target, node,
                      node == nodes.front() ? "its source's" : "where it goes already");
    }
    nodes.push_back(node);
  }
}

void PathCheck::check_receiver(const Transfer& transfer, NicId nic, Rank target,
                               const std::vector<Rank>& further) {
  check_nic(transfer, "receive", nic, target);
  check_place(transfer, nic, target, "deliver");
  for (const Rank each : further) {
    if (topology_.node_of(each) != topology_.node_of(target)) {
      violations_.add(transfer,
                      "further target rank {} is on node {}: expected node {}, that of "
                      "rank {}",
                      each, topology_.node_of(each), topology_.node_of(target), target);
    }
    check_place(transfer, nic, each, "deliver");
  }
}

void PathCheck::check_nic(const Transfer& transfer, std::string_view use, NicId nic, Rank rank) {
  const NodeId node = topology_.nic(nic).node;
  if (node != topology_.node_of(rank)) {
    violations_.add(transfer, "{} NIC {} is on node {}: expected node {}, that of rank {}", use,
                    nic, node, topology_.node_of(rank), rank);
  }
  const PlaceId place = topology_.place_of(nic);
  if (topology_.host_of(place).is_none()) {
    violations_.add(transfer, "no rank serves place {}, the slots of NIC {}", place, nic);
  }
}

void PathCheck::check_place(const Transfer& transfer, NicId nic, Rank end_point,
                            std::string_view leg) {
  const PlaceId place = topology_.place_of(nic);
  if (topology_.is_host(place)) return;
  const int stager = device_of(topology_.gpu_of(place));
  if (stager != device_of(end_point)) return;
  violations_.add(transfer,
                  "{} copies within GPU {}, where NIC {} has its slots and rank {} its data", leg,
                  stager, nic, end_point);
}

void PathCheck::check_relayed(const Transfer& transfer) {
  const NodeId node = topology_.node_of(transfer.source);
  if (node != topology_.node_of(transfer.target)) {
    violations_.add(transfer, "relayed from node {} to node {}: expected the staged route", node,
                    topology_.node_of(transfer.target));
  }
  const PlaceId via = transfer.via;
  if (topology_.node_of(via) != node) {
    violations_.add(transfer, "goes via place {} on node {}: expected node {}, that of rank {}",
                    via, topology_.node_of(via), node, transfer.source);
  }
  const bool in_host = topology_.is_host(via);
  if (in_host != (topology_.staging() == StagingKind::kHost)) {
    violations_.add(transfer, "goes via place {} in {} memory: expected one that holds slots", via,
                    in_host ? "host" : "GPU");
  }
  if (topology_.host_of(via).is_none()) {
    violations_.add(transfer, "no rank serves place {}, that it goes via", via);
  }
  if (in_host) return;
  const int stager = device_of(topology_.gpu_of(via));
  if (stager == device_of(transfer.source)) {
    violations_.add(transfer, "stage-in copies within GPU {}, that of rank {}", stager,
                    transfer.source);
  }
  if (stager == device_of(transfer.target)) {
    violations_.add(transfer, "deliver copies within GPU {}, that of rank {}", stager,
                    transfer.target);
  }
}

void PathCheck::check_registered(const Transfer& transfer) {
  const NodeId source = topology_.node_of(transfer.source);
  if (source == topology_.node_of(transfer.target)) {
    violations_.add(transfer, "registered inside node {}: expected the direct route", source);
  }
  if (topology_.wire() == WireKind::kMap) {
    violations_.add(transfer,
                    "registered over a map wire, which moves no bytes between user buffers: "
                    "expected the staged route");
  }
  check_own(transfer, "send", transfer.send_nic, transfer.source);
  check_own(transfer, "receive", transfer.receive_nic, transfer.target);
}

void PathCheck::check_own(const Transfer& transfer, std::string_view use, NicId nic, Rank rank) {
  const GpuId beside = topology_.nic(nic).gpu;
  if (beside == topology_.gpu_of(rank)) return;
  violations_.add(transfer,
                  "{} NIC {} is next to GPU {}: expected one next to GPU {}, that of "
                  "rank {}",
                  use, nic, beside, topology_.gpu_of(rank), rank);
}

void PathCheck::check_after(const Transfer& transfer, const Transfer& before) {
  if (!delivers_to(before, transfer.source)) {
    violations_.add(transfer, "comes after transfer {}, which brings rank {} nothing", before.id,
                    transfer.source);
  }
  if (before.size != transfer.size) {
    violations_.add(transfer, "{} bytes after transfer {} of {}: expected as many",
                    transfer.size.count(), before.id, before.size.count());
  }
  if (before.target_offset != transfer.source_offset) {
    violations_.add(transfer, "source offset {}: expected {}, where transfer {} brings its bytes",
                    transfer.source_offset.count(), before.target_offset.count(), before.id);
  }
}

}  // namespace

void check_paths(const Plan& plan, const Topology& topology, Violations& violations) {
  PathCheck(plan, topology, violations).check();
}

}  // namespace hoccl::engine
