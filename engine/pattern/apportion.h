#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hoccl::engine {

/// Splits `total` in proportion to the weights, none of which is below 0 and which sum up to 1 to
/// 2^53. The parts are whole, 0 where the weight is, add up to `total` exactly, and each is within
/// 1 (and the rounding of a double, beyond totals of 2^52) of its proportion. The same on every
/// platform.
std::vector<std::int64_t> apportion(std::span<const std::int64_t> weights, std::int64_t total);

}  // namespace hoccl::engine
