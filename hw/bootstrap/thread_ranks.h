#pragma once

#include <functional>
#include <vector>

#include "hw/bootstrap/launch.h"

namespace hoccl::hw {

/// For ranks that are threads of this process: one Launch each, by rank.
std::vector<Launch> make_local_launches(int ranks);

/// Calls `rank` once per rank, each on a thread of its own, and waits for all; returns the first
/// exit code that is not 0. When a rank fails and the others do not end within ten seconds, as
/// processes would be given, this process ends with that code.
int run_thread_ranks(int ranks, const std::function<int(const Launch&)>& rank);

}  // namespace hoccl::hw
