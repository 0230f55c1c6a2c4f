#pragma once

#include "engine/base/units.h"

namespace hoccl::hw {

/// Starts a job of `ranks` processes, each waiting for a message that nobody sends, and returns the
/// CPU time, as a fraction of one core, that the busiest of them used over `time` of waiting.
double idle_cost(int ranks, engine::Seconds time);

}  // namespace hoccl::hw
