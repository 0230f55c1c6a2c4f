#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// How a flow with several targets is carried.
enum class Algorithm : std::uint8_t {
  kMulticast,  ///< the network is crossed once per remote node, then the node's NVLink fans out
  kRing,       ///< from rank to rank round a ring; nodes are crossed through `nics` NICs
  kP2p,        ///< one message per target
};

/// How a pattern is laid onto a topology.
struct CompileOptions {
  /// The paper does not state HOCCL's; its CPU launch cost grows by 1.2 µs per 2 MiB (Fig. 9),
  /// about what posting one copy costs. experiments/fig7 sweeps it.
  Bytes chunk_size = Bytes(std::int64_t{2} << 20);
  /// NIC pairs that one message between nodes is striped over. 0: one where forwarding is
  /// symmetric, else all.
  int rails = 0;
  Forwarding forwarding = Forwarding::kSymmetric;
  Order order = Order::kCritical;
  Algorithm algorithm = Algorithm::kMulticast;
  /// NICs per node that a ring crosses nodes through: that many rings, each with its share.
  int nics = 1;
  /// Largest part of the total stage length that coarser entries may add to save stages; 0: exact.
  double quantise = 0.0;
  /// Nodes that one stage-in serves, up to 1 + kMaxBranches; 1: every node has its own.
  int nodes_per_stage_in = 1 + static_cast<int>(kMaxBranches);

  auto operator<=>(const CompileOptions&) const = default;
};

/// What suits a known pattern, or flows of the user's own. Skewed traffic finishes sooner when
/// every source interleaves its own: a stage is fed by few GPUs then, and whoever waits for one
/// idles. So does what own NICs carry, because no receive slots keep their stages in step.
Order default_order(std::string_view pattern, Forwarding forwarding);
std::string_view to_string(Order order);
std::string_view to_string(Algorithm algorithm);
/// Each throws ConfigError, listing the known names.
Order parse_order(std::string_view name);
Algorithm parse_algorithm(std::string_view name);

/// Compiles a pattern for a topology: same input, same plan, on every rank. Throws ConfigError when
/// the topology cannot carry the pattern, naming the option or the topology, its value and what was
/// expected.
Plan compile(const Pattern& pattern, const Topology& topology, const CompileOptions& options);

/// The part of that plan that the ranks of one node need: every transfer with a source or a target
/// there, with the same ids and stages. What a rank compiles before it runs an operation.
Plan compile_for_node(const Pattern& pattern, const Topology& topology,
                      const CompileOptions& options, NodeId node);

}  // namespace hoccl::engine
