#pragma once

#include <string_view>

#include "engine/base/ids.h"
#include "engine/base/units.h"

namespace hoccl::engine {

/// Largest number of ranks of a pattern in which every rank sends to every other: its flows, or
/// their targets, are N * N entries, which are a GiB of Flow at this size. Four times the 1024 GPUs
/// that simulation and planning aim at.
inline constexpr int kMaxPairwiseRanks = 4096;

/// The checks that patterns share. `name` is the pattern's; each throws a ConfigError of one line
/// that names it, the key, the value and what was expected.
void require_rank_count(std::string_view name, int rank_count, int least, int most);
/// From 0 to kMaxMessageSize.
void require_size(std::string_view name, Bytes size);
void require_rank(std::string_view name, std::string_view key, Rank rank, int rank_count);

}  // namespace hoccl::engine
