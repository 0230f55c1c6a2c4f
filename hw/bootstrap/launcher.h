#pragma once

#include <string>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::hw {

/// Starts this very program once per rank, with `arguments` (without its name) and an environment
/// that read_launch_environment() understands, and waits for all. The ranks die with this process,
/// and SIGINT and SIGTERM are passed on to them. When one fails, the others have `end_time` to end
/// by themselves, then they are killed. To be called while this process has no other thread.
///
/// Returns 0 when every rank did, else the exit code of the first whose failure was noticed: 1 for
/// one killed by a signal, 128 + signal when this process was told to end. Throws SystemError when
/// a process cannot be started.
int launch_local_ranks(int ranks, const std::vector<std::string>& arguments,
                       engine::Seconds end_time = engine::Seconds(10.0));

}  // namespace hoccl::hw
