#pragma once

#include <string>

#include "engine/base/ids.h"
#include "engine/fabric.h"
#include "engine/schedule/verifier.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

// For fabrics whose messages come out of shared memory or off a wire: what a peer's proxy can say,
// and nothing else, so that garbage is turned away before the pipeline indexes by it.

/// Empty when every field of a message from `sender` to `receiver` is in range, and the two are
/// such ranks as exchange it; else one line that says which field is wrong. `slots` are those of
/// every place. Looks at the message alone: whether it fits what was said before is not checked.
std::string wrong_with(const Message& message, Rank sender, Rank receiver, const Topology& topology,
                       const SlotSupply& slots);

/// The same for a chunk that a NIC of a place that `sender` hosts has written into a receive slot
/// of `receiver`.
std::string wrong_with(const Arrived& arrival, Rank sender, Rank receiver, const Topology& topology,
                       const SlotSupply& slots);

}  // namespace hoccl::engine
