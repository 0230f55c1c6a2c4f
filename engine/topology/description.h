#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::engine {

/// Where staging slots live: in a peer GPU's memory (reached over NVLink), or in host memory.
enum class StagingKind { kPeer, kHost };

/// What a wire leg is: bytes between two NICs, or a slot that changes owner (nothing moves).
enum class WireKind { kNic, kMap };

std::string_view to_string(StagingKind kind);
std::string_view to_string(WireKind kind);

/// The PCIe port of one physical GPU. Both directions together carry at most `duplex_sum()`.
struct PcieRates {
  BytesPerSecond one_way;      ///< one direction while the other is idle
  BytesPerSecond duplex_each;  ///< each direction while both are busy

  [[nodiscard]] BytesPerSecond duplex_sum() const { return duplex_each * 2.0; }
};

/// NVLink of one GPU, per direction.
struct NvlinkRates {
  BytesPerSecond out;
  BytesPerSecond in;
};

/// One layer of switches. Switches of a tier cover consecutive nodes; above the last tier there
/// is a core that never blocks. The uplink of a switch carries, per direction, the sum of the
/// rates of the NICs below it divided by `oversubscription`.
struct SwitchTier {
  std::string name;
  int nodes_per_switch = 1;
  double oversubscription = 1.0;
  /// One switch per rail (and group of nodes), so that NICs of different rails meet higher up.
  bool rail_aligned = false;
};

struct NicDescription {
  int node = 0;
  int gpu = 0;  ///< index, within the node, of the nearest GPU
  BytesPerSecond rate;
};

/// A value of the topology with the place it comes from, for tools to print.
struct SourcedValue {
  std::string key;
  std::string value;
  std::string source;
};

/// What a Topology is built from: plain data, written by presets, the TOML reader and tests.
struct TopologyDescription {
  std::string name;
  std::vector<int> gpus_per_node;
  /// All GPUs are one physical device seen as several logical nodes of one GPU each; they share
  /// its copy engines and its PCIe port.
  bool shared_device = false;
  NvlinkRates nvlink;
  PcieRates pcie;
  bool wire_shares_pcie = false;
  StagingKind staging = StagingKind::kPeer;
  WireKind wire = WireKind::kNic;
  /// In rail order within each node. On a map wire the rate is infinite.
  std::vector<NicDescription> nics;
  std::vector<SwitchTier> switch_tiers;
  /// Cluster-wide GPU number of each rank; empty means one rank per GPU, in GPU order.
  std::vector<int> rank_gpus;
  std::vector<SourcedValue> sources;
};

}  // namespace hoccl::engine
