#pragma once

#include <string_view>

#include "engine/topology/description.h"

namespace hoccl::engine {

/// Refuses a description that no machine can have. Throws ConfigError: one line with `place` (the
/// file, or the topology's name), the key as topology files spell it, its value and what was
/// expected.
void validate(const TopologyDescription& description, std::string_view place);

}  // namespace hoccl::engine
