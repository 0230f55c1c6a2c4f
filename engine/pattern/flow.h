#pragma once

#include <cstdint>

#include "engine/base/ids.h"
#include "engine/base/units.h"

namespace hoccl::engine {

/// Foreground is what the result is about; background is load that yields to it.
enum class FlowClass : std::uint8_t { kForeground, kBackground };

/// One demand of a pattern: contiguous bytes of the source's send buffer that must appear in the
/// target's receive buffer. Says nothing about paths.
struct Flow {
  Rank source;
  Rank target;
  Bytes source_offset;  ///< in the source's send buffer
  Bytes target_offset;  ///< in the target's receive buffer
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;

  bool operator==(const Flow&) const = default;
};

}  // namespace hoccl::engine
