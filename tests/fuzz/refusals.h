#pragma once

#include <cstdint>

#include "engine/topology/topology.h"
#include "tests/support/ideal_options.h"

namespace hoccl::engine {

/// Sometimes lets some buffers be refused, at their export or at an import, so that what is for
/// them goes through slots; where every two ranks of a node have a third place for that.
void draw_refusals(std::uint64_t seed, const Topology& topology, IdealFaults& faults);

/// Whether that was drawn.
inline bool refuses(const IdealFaults& faults) { return faults.export_fails != nullptr; }

}  // namespace hoccl::engine
