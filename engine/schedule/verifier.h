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

/// Everything that is wrong with a whole plan (not one node's part), whatever made it; empty when
/// it may be executed. One line each, naming the transfer. Checked: values in range, ids ascending;
/// every byte of the pattern delivered exactly once to every target, from the right place, also
/// through transfers that come after others; no leg within one GPU; NICs and places on the right
/// nodes, branches to different ones; unless the order is local, no NIC with two partners in one
/// direction of a stage; slots suffice; what waits for what has no cycle; the number of transfers
/// does not grow with the size. When values are out of range only those are listed. `pattern` may
/// be null: then a plan of a known pattern is checked against that pattern as far as the plan says
/// which it is (named_pattern), and another only for consistency (no byte twice, no gap between the
/// pieces of two ranks). Takes about 1 us per transfer.
std::vector<std::string> find_violations(const Plan& plan, const Pattern* pattern,
                                         const Topology& topology, const SlotSupply& slots);

/// Throws ConfigError with the first violation and how many there are.
void verify(const Plan& plan, const Pattern* pattern, const Topology& topology,
            const SlotSupply& slots);

}  // namespace hoccl::engine
