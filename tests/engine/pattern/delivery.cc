#include "tests/engine/pattern/delivery.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/base/config_error.h"

namespace hoccl::engine {

std::map<Place, Place> delivered(const Pattern& pattern) {
  std::map<Place, Place> bytes;
  for (const Flow& flow : pattern.flows) {
    EXPECT_GT(flow.size, Bytes(0));
    EXPECT_GE(flow.source, Rank(0));
    EXPECT_LT(flow.source, Rank(pattern.rank_count));
    EXPECT_TRUE(std::ranges::is_sorted(flow.more_targets));
    const std::vector<Rank> targets = targets_of(flow);
    for (const Rank target : targets) {
      EXPECT_GE(target, Rank(0));
      EXPECT_LT(target, Rank(pattern.rank_count));
      EXPECT_TRUE(target != flow.source || targets.size() == 1) << "its own copy in a multicast";
      for (std::int64_t i = 0; i < flow.size.count(); ++i) {
        const Place to = {target, flow.target_offset.count() + i};
        const Place from = {flow.source, flow.source_offset.count() + i};
        EXPECT_TRUE(bytes.emplace(to, from).second) << "rank " << target.value() << " twice";
      }
    }
  }
  return bytes;
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace hoccl::engine
