#include "engine/pattern/group.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"

namespace hoccl::engine {

void require_group(std::string_view name, const std::vector<Rank>& group, int rank_count) {
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (group[i].value() < 0 || group[i].value() >= rank_count) {
      throw ConfigError(fmt::format("pattern {}: group holds rank {}: expected ranks from 0 to {}",
                                    name, group[i], rank_count - 1));
    }
    if (i > 0 && group[i] <= group[i - 1]) {
      throw ConfigError(
          fmt::format("pattern {}: group holds rank {} after {}: expected ascending ranks, each "
                      "once",
                      name, group[i], group[i - 1]));
    }
  }
}

Pattern on_group(Pattern pattern, const std::vector<Rank>& group, int rank_count) {
  if (group.empty()) return pattern;
  require_group(pattern.name, group, rank_count);
  if (std::ssize(group) != pattern.rank_count) {
    throw ConfigError(fmt::format("pattern {}: group of {} ranks: expected {}", pattern.name,
                                  group.size(), pattern.rank_count));
  }
  pattern.rank_count = rank_count;
  for (Flow& flow : pattern.flows) {
    flow.source = group[flow.source.index()];
    flow.target = group[flow.target.index()];
    // An ascending group keeps ascending targets ascending.
    for (Rank& target : flow.more_targets) target = group[target.index()];
  }
  return pattern;
}

}  // namespace hoccl::engine
