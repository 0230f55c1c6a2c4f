#pragma once

#include <string>

namespace hoccl::hw {

/// All processes of a job run the same one.
std::string program_version();

}  // namespace hoccl::hw
