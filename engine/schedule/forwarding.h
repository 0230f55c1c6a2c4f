#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/flow.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Which NICs carry a flow between nodes.
enum class Forwarding : std::uint8_t {
  kSymmetric,  ///< the paper's pairing: the NIC of GPU x xor 1 on either side
  kBalanced,   ///< every node pair's bytes spread evenly over the rails
  kOwnNic,     ///< the NICs next to source and target, which read and write registered user buffers
};

std::string_view to_string(Forwarding forwarding);
/// Throws ConfigError, listing the known names.
Forwarding parse_forwarding(std::string_view name);

/// The two ends of a wire leg.
struct NicPair {
  NicId send;
  NicId receive;

  bool operator==(const NicPair&) const = default;
};

/// The NICs that can carry a flow of this GPU, in rail order: all of its node whose place is not
/// the GPU's own memory, for a copy within one GPU would run on its SMs.
std::vector<NicId> staging_nics(const Topology& topology, GpuId end_point);

/// The disjoint paths of one message between two nodes, best first: symmetric pairs, then pairs on
/// one rail, then what is left, crossing rails. Nearest NICs take the place of symmetric ones where
/// staging is in host memory. Throws ConfigError when there is none.
std::vector<NicPair> candidate_pairs(const Topology& topology, Rank source, Rank target);

/// Appends the transfers of one flow, stages still 0: one direct transfer inside a node, else
/// `rails` pieces of whole chunks over the first candidate pairs (fewer when the flow has fewer
/// chunks). Nothing for an empty flow. Throws ConfigError when the topology has fewer rails.
void forward(const Flow& flow, const Topology& topology, Bytes chunk_size, int rails,
             std::vector<Transfer>& transfers);

/// Appends a transfer between nodes in pieces of whole chunks, one over each pair (fewer when it
/// has fewer chunks).
void stripe(const Transfer& whole, std::span<const NicPair> pairs, Bytes chunk_size,
            std::vector<Transfer>& transfers);

}  // namespace hoccl::engine
