#pragma once

#include <cstdint>

namespace hoccl::engine {

/// Where chunk number `chunk` of `chunks` stands in the order in which flows take turns, from 0 to
/// 1: all get on in proportion to their sizes (paper §3.4).
inline double interleave_position(std::int64_t chunk, std::int64_t chunks) {
  return (static_cast<double>(chunk) + 0.5) / static_cast<double>(chunks);
}

}  // namespace hoccl::engine
