#pragma once

#include <span>

#include "engine/base/units.h"
#include "engine/run_result.h"
#include "engine/trace/trace.h"
#include "sim/run/scenario.h"

namespace hoccl::sim {

/// Throws ConfigError when the scenario cannot be run at one of these sizes: unknown names, ranks
/// out of range, a topology that cannot carry the pattern or the system. Simulates nothing.
void require_runnable(const Scenario& scenario, std::span<const engine::Bytes> sizes);

/// Runs one simulation; once per process. Every stream is held until all ranks have enqueued, so
/// that `time` is the operation's alone, as when nccl-tests' iterations queue up behind each other.
/// Events of the measured iterations go to `trace` if not null, with time 0 where the first begins.
/// Throws RunError when an operation ends with an error. Aborts when a time beats its lower bound:
/// then the model is wrong and no number of it may be shown.
engine::RunResult simulate(const Scenario& scenario, engine::Bytes size, engine::TraceSink* trace);

}  // namespace hoccl::sim
