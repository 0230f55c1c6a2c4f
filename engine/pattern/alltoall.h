#pragma once

#include <string_view>

#include "engine/pattern/pattern.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {

inline constexpr std::string_view kAllToAllName = "alltoall";

/// Every rank sends block j of its buffer of `size` bytes to rank j; the received blocks lie in the
/// order of their sources. In place: a rank's own block is not moved. Throws ConfigError for ranks
/// outside [1, kMaxPairwiseRanks] or a size outside [0, kMaxMessageSize].
Pattern all_to_all(int rank_count, Bytes size, bool in_place);

/// Its bytes from every rank to every rank, own blocks included. Throws as all_to_all.
TrafficMatrix all_to_all_matrix(int rank_count, Bytes size);

}  // namespace hoccl::engine
