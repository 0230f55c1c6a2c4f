#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/schedule/verifier.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {

/// Just enough for the plan below.
inline constexpr SlotSupply kSlots{
    .slot_size = Bytes(1 << 20), .send_slots = 1, .receive_slots = 1};

/// A good plan to spoil: rank 0 to rank 8 over NICs 1 -> 9 and 2 -> 10, 4 MiB each.
struct Striped {
  Striped();

  [[nodiscard]] std::vector<std::string> violations(const SlotSupply& slots = kSlots) const;

  Topology topology;
  Pattern pattern;
  Plan plan;
};

/// Violations of the good plan after `spoil`.
std::vector<std::string> spoiled(const std::function<void(Plan&)>& spoil);

}  // namespace hoccl::engine
