#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// The staging slots of every place.
struct SlotSupply {
  Bytes slot_size;
  std::int32_t send_slots = 0;
  std::int32_t receive_slots = 0;
};

/// Everything that is wrong with a plan, whatever made it; empty when it may be executed. One line
/// each, naming the transfer. Checked: values in range; every byte of the pattern delivered exactly
/// once from the right place; no leg within one GPU; all targets of a transfer on one node; NICs on
/// the right nodes and at most once per direction in a stage; slots suffice; what waits for what
/// has no cycle; the number of transfers does not grow with the size. When values are out of range
/// only those are listed. `pattern` may be null: then a plan of a known pattern is checked against
/// that pattern, and another only for consistency (no byte twice, no gap between the pieces of two
/// ranks).
std::vector<std::string> find_violations(const Plan& plan, const Pattern* pattern,
                                         const Topology& topology, const SlotSupply& slots);

/// Throws ConfigError with the first violation and how many there are.
void verify(const Plan& plan, const Pattern* pattern, const Topology& topology,
            const SlotSupply& slots);

}  // namespace hoccl::engine
