#pragma once

#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "engine/base/random.h"
#include "engine/topology/topology.h"
#include "tests/support/event_queue.h"
#include "tests/support/ideal_memory.h"
#include "tests/support/ideal_options.h"

namespace hoccl::engine {

class IdealPort;
class IdealStreams;

/// What the parts of an IdealFabric share.
struct IdealWorld {
  IdealWorld(Topology machine, IdealOptions settings);
  ~IdealWorld();
  IdealWorld(const IdealWorld&) = delete;
  IdealWorld& operator=(const IdealWorld&) = delete;

  [[nodiscard]] bool adversarial() const { return options.timing == Timing::kAdversarial; }

  /// How long something takes: as computed, or anything.
  Seconds duration(Seconds closed_form);
  /// When that ends.
  Seconds after(Seconds closed_form) { return events.now() + duration(closed_form); }

  const Topology topology;
  const IdealOptions options;
  Random random;
  EventQueue events;
  IdealMemory memory;
  /// Those of which a copy or write ended with an error.
  std::set<OperationId> failed_operations;
  /// Ports are driven by proxies: what they say to each other must pass the message check.
  bool proxies_run = false;
  /// By GPU, side and the rank that told it.
  std::map<std::tuple<GpuId, LinkSide, Rank>, int> copies_under_way;
  std::vector<std::unique_ptr<IdealPort>> ports;  // by rank
  std::unique_ptr<IdealStreams> streams;
};

}  // namespace hoccl::engine
