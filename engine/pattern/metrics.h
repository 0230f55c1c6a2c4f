#pragma once

#include "engine/base/units.h"
#include "engine/pattern/pattern.h"

namespace hoccl::engine {

/// algbw of nccl-tests (doc/PERFORMANCE.md): message size over time.
inline BytesPerSecond algbw(const Pattern& pattern, Seconds time) {
  return pattern.message_size / time;
}

/// busbw of nccl-tests: algbw times the pattern's factor, comparable with a link's rate.
inline BytesPerSecond busbw(const Pattern& pattern, Seconds time) {
  return algbw(pattern, time) * pattern.busbw_factor;
}

}  // namespace hoccl::engine
