#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {

/// One token's activations: DeepSeek-V3's hidden dimension (arXiv 2412.19437, §4.2) in BF16.
inline constexpr Bytes kTokenSize{7168 * 2};

/// The dispatch of a mixture-of-experts layer with expert parallelism over all ranks: every rank
/// routes equally many tokens, and a token goes once to each rank that holds any of its experts.
/// Entries are whole tokens; a rank sends `mean` bytes on average, rounded down to tokens over all
/// ranks, and one token is sent at least if `mean` is not 0. Constants and what they assume are in
/// the .cc file.
TrafficMatrix route_tokens(int ranks, Bytes mean, std::uint64_t seed);

}  // namespace hoccl::engine
