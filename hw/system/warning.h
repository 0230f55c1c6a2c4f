#pragma once

#include <string>

namespace hoccl::hw {

/// Prints to stderr, from any thread. Where it cannot be printed it is lost: a full disk behind
/// stderr must not end a rank.
void warn(const std::string& text);

}  // namespace hoccl::hw
