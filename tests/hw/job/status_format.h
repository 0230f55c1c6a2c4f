#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/fabric.h"

namespace hoccl::hw {

/// A status on its way from a rank to its test.
std::string encode(const std::optional<engine::Status>& status);
std::optional<engine::Status> decode_status(std::string_view text);

}  // namespace hoccl::hw
