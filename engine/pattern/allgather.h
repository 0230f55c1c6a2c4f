#pragma once

#include <string_view>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {

inline constexpr std::string_view kAllGatherName = "allgather";

/// Every rank sends its share of the result of `size` bytes to all others: one multicast flow per
/// rank, then, unless in place, its own copy. Throws ConfigError for ranks outside
/// [1, kMaxPairwiseRanks] or a size outside [0, kMaxMessageSize].
Pattern all_gather(int rank_count, Bytes size, bool in_place);

}  // namespace hoccl::engine
