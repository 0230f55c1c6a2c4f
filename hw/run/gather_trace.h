#pragma once

#include <span>
#include <vector>

#include "engine/trace/trace.h"
#include "hw/bootstrap/bootstrap.h"

namespace hoccl::hw {

/// Collective: the events of all ranks, on every rank, in times since the earliest. All ranks must
/// be on one host, whose clock they share.
std::vector<engine::TraceEvent> gather_trace(Bootstrap& bootstrap,
                                             std::span<const engine::TraceEvent> own);

}  // namespace hoccl::hw
