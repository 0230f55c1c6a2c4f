#pragma once

#include "engine/fabric.h"

namespace hoccl::hw {

/// Whether the error says that it came of the loss of this rank: by itself, or on the link to it,
/// or while its buffer was to be mapped.
inline bool names(const engine::Status& status, engine::Rank lost) {
  using enum engine::Cause;
  const bool fits =
      status.cause == kPeerLost || status.cause == kLinkError || status.cause == kCopyError;
  return fits && (status.peer == lost || status.rank == lost);
}

}  // namespace hoccl::hw
