#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"

namespace hoccl::engine {

/// Foreground is what the result is about; background is load that yields to it.
enum class FlowClass : std::uint8_t { kForeground, kBackground };

/// One demand of a pattern: contiguous bytes of the source's send buffer that must appear in the
/// receive buffer of the target, or of several. Says nothing about paths. Source and target may be
/// one rank: its own share of an operation that is not in place.
struct Flow {
  Rank source;
  Rank target;
  Bytes source_offset;  ///< in the source's send buffer
  Bytes target_offset;  ///< in the target's receive buffer
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;
  /// Multicast: further ranks, ascending, that want the same bytes at the same target_offset.
  std::vector<Rank> more_targets = {};

  bool operator==(const Flow&) const = default;
};

/// Every rank the flow is for, `target` first.
inline std::vector<Rank> targets_of(const Flow& flow) {
  std::vector<Rank> targets = {flow.target};
  targets.insert(targets.end(), flow.more_targets.begin(), flow.more_targets.end());
  return targets;
}

}  // namespace hoccl::engine
