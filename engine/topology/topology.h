#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/topology/description.h"

namespace hoccl::engine {

struct Gpu {
  NodeId node;
  int index = 0;     ///< within its node
  int physical = 0;  ///< device, cluster-wide; the logical GPUs of one device share it
};

struct Nic {
  NodeId node;
  GpuId gpu;     ///< nearest GPU, in whose memory (or node's memory) its slots live
  int rail = 0;  ///< index of the NIC within its node
  /// Per direction; infinite on a map wire, where nothing moves.
  BytesPerSecond rate;
};

/// Nodes, GPUs, NICs, switches and the placement of ranks. Immutable plain data with queries;
/// ids are dense and count up node by node.
class Topology {
 public:
  /// Throws ConfigError, one line naming the topology, the field, its value and what was expected.
  explicit Topology(TopologyDescription description);

  /// The same machine with `count` ranks, spread evenly over its nodes: the first nodes get the
  /// rounded-up share, each node its first places. On a shared device there are then `count`
  /// logical nodes. Throws ConfigError when out of range or when a node has too few GPUs.
  [[nodiscard]] Topology with_ranks(int count) const;

  [[nodiscard]] const std::string& name() const { return description_.name; }
  [[nodiscard]] const TopologyDescription& description() const { return description_; }

  [[nodiscard]] int node_count() const { return static_cast<int>(node_gpus_.size()); }
  [[nodiscard]] int gpu_count() const { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int nic_count() const { return static_cast<int>(nics_.size()); }
  /// Physical GPUs: fewer than `gpu_count()` on a shared device.
  [[nodiscard]] int device_count() const { return device_count_; }

  [[nodiscard]] std::span<const Gpu> gpus() const { return gpus_; }
  [[nodiscard]] std::span<const Nic> nics() const { return nics_; }
  [[nodiscard]] const Gpu& gpu(GpuId gpu) const;
  [[nodiscard]] const Nic& nic(NicId nic) const;
  [[nodiscard]] std::span<const GpuId> gpus_of(NodeId node) const;
  [[nodiscard]] std::span<const NicId> nics_of(GpuId gpu) const;
  /// In rail order.
  [[nodiscard]] std::span<const NicId> nics_of(NodeId node) const;
  /// The GPU whose index differs in the lowest bit (x xor 1) on the same node, or none.
  [[nodiscard]] GpuId symmetric_partner(GpuId gpu) const;

  [[nodiscard]] NvlinkRates nvlink() const { return description_.nvlink; }
  [[nodiscard]] PcieRates pcie() const { return description_.pcie; }
  /// Whether RDMA to and from a GPU's slots crosses the GPU's own PCIe port.
  [[nodiscard]] bool wire_shares_pcie() const { return description_.wire_shares_pcie; }
  [[nodiscard]] bool shared_device() const { return description_.shared_device; }
  [[nodiscard]] StagingKind staging() const { return description_.staging; }
  [[nodiscard]] WireKind wire() const { return description_.wire; }

  /// The most NICs of any node.
  [[nodiscard]] int rail_count() const { return rail_count_; }
  /// None where the node has fewer rails.
  [[nodiscard]] NicId nic_on_rail(NodeId node, int rail) const;

  [[nodiscard]] std::span<const SwitchTier> switch_tiers() const {
    return description_.switch_tiers;
  }
  [[nodiscard]] int switch_count(int tier) const;
  /// The switch of `tier` above a NIC, counted within the tier.
  [[nodiscard]] int switch_of(int tier, NicId nic) const;
  /// Per direction, between a switch and the tier above (or the core).
  [[nodiscard]] BytesPerSecond uplink_rate(int tier, int switch_index) const;
  /// The lowest tier where both NICs are below one switch; switch_tiers().size() is the core. A
  /// wire leg crosses the source's uplinks and the target's downlinks of all tiers below it.
  [[nodiscard]] int meeting_tier(NicId source, NicId target) const;

  [[nodiscard]] int rank_count() const { return static_cast<int>(rank_gpus_.size()); }
  [[nodiscard]] GpuId gpu_of(Rank rank) const;
  [[nodiscard]] NodeId node_of(Rank rank) const;
  /// In ascending order.
  [[nodiscard]] std::span<const Rank> ranks_of(NodeId node) const;
  /// Position of the rank among the ranks of its node.
  [[nodiscard]] int local_index(Rank rank) const;
  [[nodiscard]] std::optional<Rank> rank_on(GpuId gpu) const;

  /// GPU places come first (same number as the GPU), then one host place per node. Both exist
  /// whatever the staging kind.
  [[nodiscard]] int place_count() const { return gpu_count() + node_count(); }
  [[nodiscard]] PlaceId gpu_place(GpuId gpu) const;
  [[nodiscard]] PlaceId host_place(NodeId node) const;
  /// Where slots next to this GPU live: its own memory, or its node's host memory.
  [[nodiscard]] PlaceId place_of(GpuId gpu) const;
  /// The place whose slots this NIC sends from and receives into.
  [[nodiscard]] PlaceId place_of(NicId nic) const;
  [[nodiscard]] bool is_host(PlaceId place) const;
  /// None for host memory.
  [[nodiscard]] GpuId gpu_of(PlaceId place) const;
  [[nodiscard]] NodeId node_of(PlaceId place) const;
  /// The rank that runs the staging service of a place: the rank on that GPU, else the lowest
  /// rank of the node, else none.
  [[nodiscard]] Rank host_of(PlaceId place) const;
  /// Whether the rank may send and receive through this NIC: it is next to its GPU, or of a place
  /// that it hosts.
  [[nodiscard]] bool can_use(Rank rank, NicId nic) const;

 private:
  void add_gpus();
  void add_nics();
  void add_ranks();
  [[nodiscard]] Topology with_logical_nodes(int count) const;
  [[nodiscard]] Topology with_even_share(int count) const;

  TopologyDescription description_;
  std::vector<Gpu> gpus_;
  std::vector<Nic> nics_;
  std::vector<GpuId> rank_gpus_;
  std::vector<Rank> gpu_rank_;  // by GPU; none where no rank lives
  std::vector<std::vector<GpuId>> node_gpus_;
  std::vector<std::vector<NicId>> node_nics_;
  std::vector<std::vector<NicId>> gpu_nics_;
  std::vector<std::vector<Rank>> node_ranks_;
  int device_count_ = 0;
  int rail_count_ = 0;
};

/// A preset such as "h800-2x8"; throws ConfigError listing the presets when the name is not one.
Topology preset_topology(std::string_view name);
/// A topology file (TOML, schema 1); throws ConfigError naming file, key and what was expected.
Topology load_topology(const std::string& path);
/// The same from text; `file` stands for the path in messages.
Topology parse_topology(std::string_view text, const std::string& file);
/// A preset, or a file when the text ends in ".toml".
Topology resolve_topology(const std::string& preset_or_file);

}  // namespace hoccl::engine
