#pragma once

#include <compare>

#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/forwarding.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// How a pattern is laid onto a topology.
struct CompileOptions {
  /// The paper does not state HOCCL's; its CPU launch cost grows by 1.2 µs per 2 MiB (Fig. 9),
  /// about what posting one copy costs. experiments/fig7 sweeps it.
  Bytes chunk_size = Bytes(std::int64_t{2} << 20);
  /// NIC pairs that one message between nodes is striped over.
  int rails = 1;
  Forwarding forwarding = Forwarding::kSymmetric;

  auto operator<=>(const CompileOptions&) const = default;
};

/// Compiles a pattern for a topology: same input, same plan, on every rank. Transfers are in stage
/// order. Throws ConfigError when the topology cannot carry the pattern, naming the option or the
/// topology, its value and what was expected.
Plan compile(const Pattern& pattern, const Topology& topology, const CompileOptions& options);

}  // namespace hoccl::engine
