#pragma once

#include <string_view>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {

inline constexpr std::string_view kBroadcastName = "broadcast";
inline constexpr std::string_view kGatherName = "gather";
inline constexpr std::string_view kScatterName = "scatter";

/// The root sends its `size` bytes to all others, as one multicast flow. Each of the three throws
/// ConfigError for ranks outside [1, kMaxRanks], a root that is none of them or a size outside
/// [0, kMaxMessageSize]; unless in place, the root's own share is a flow of its own, the last one.
Pattern broadcast(int rank_count, Rank root, Bytes size, bool in_place);

/// Every rank sends its share of `size` bytes to the root, where the shares lie in rank order.
Pattern gather(int rank_count, Rank root, Bytes size, bool in_place);

/// The root sends every rank its share of `size` bytes.
Pattern scatter(int rank_count, Rank root, Bytes size, bool in_place);

}  // namespace hoccl::engine
