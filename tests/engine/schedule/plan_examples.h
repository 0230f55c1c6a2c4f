#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/pattern/pattern.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// A good plan made by hand: rank 0 of 3x4 sends 8 MiB in chunks of 1 MiB to all, itself included.
/// Transfer 0 goes to rank 1, 1 from there to rank 2 and 2 on to rank 3; 3 crosses to node 1 over
/// NICs 1 -> 5 in two stages and branches to node 2 over NICs 1 -> 9 in two later ones; 4 and 5
/// pass it on to the ranks whose GPUs hold the slots; 6 is rank 0's own share, through place 2.
struct BroadcastExample {
  BroadcastExample();

  [[nodiscard]] std::vector<std::string> violations() const;

  Topology topology;
  Pattern pattern;
  Plan plan;
};

/// Violations of that plan after `spoil`.
std::vector<std::string> spoiled_broadcast(const std::function<void(Plan&)>& spoil);

}  // namespace hoccl::engine
