#pragma once

#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/pattern/pattern.h"

namespace hoccl::engine {

/// Throws ConfigError, naming pattern `name`, unless the group is ascending ranks of the job, each
/// once. An empty group is right: it stands for all ranks.
void require_group(std::string_view name, const std::vector<Rank>& group, int rank_count);

/// The pattern, which is over as many ranks as the group has, carried out by those ranks of a job
/// of `rank_count`: offsets, sizes and factors stay, rank i becomes group[i]. Throws as
/// require_group, and when the two counts differ. An empty group changes nothing.
Pattern on_group(Pattern pattern, const std::vector<Rank>& group, int rank_count);

}  // namespace hoccl::engine
