#pragma once

#include <cstdint>
#include <type_traits>

#include "hw/node/record_ring.h"

namespace hoccl::hw {

/// What tells a peer on another node that something has come: behind every payload on the same
/// queue pair, or alone. Lands in the receiving end's ring, at `sequence` modulo its size.
struct WireHeader {
  std::uint64_t sequence = 0;  ///< counts from 1 per conduit, whichever queue pair carries it
  Record record;
};
static_assert(std::has_unique_object_representations_v<WireHeader>, "it is sent as it is");

/// The immediate of a header.
inline std::uint32_t immediate_of(std::uint64_t sequence) {
  return static_cast<std::uint32_t>(sequence);
}

/// Receives that are posted at the receiving end; a write that finds none is offered again.
inline constexpr int kReceives = 64;
/// Twice as many, because a write that is offered again may already have put its header down: what
/// lay there was read before the receive that it waits for was posted.
inline constexpr int kRingHeaders = 2 * kReceives;

}  // namespace hoccl::hw
