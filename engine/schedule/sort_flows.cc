#include "engine/schedule/sort_flows.h"

#include <cstddef>
#include <map>
#include <utility>

namespace hoccl::engine {
namespace {

PairFlow to_one(const Flow& flow, Rank target) {
  return {flow.source, target, flow.source_offset, flow.target_offset, flow.size, flow.flow_class};
}

/// Flows to several ranks that are carried as such. Those that a rank's own share can be passed
/// back from are marked, and the shares' numbers in the pattern added to `given_back`, ascending.
std::vector<Multicast> multicasts_of(const Pattern& pattern, const RailMap& rails,
                                     std::vector<std::size_t>& given_back) {
  std::vector<Multicast> multicasts;
  std::map<Rank, std::vector<std::size_t>> by_source;
  for (const Flow& flow : pattern.flows) {
    if (flow.more_targets.empty() || flow.size == Bytes(0)) continue;
    by_source[flow.source].push_back(multicasts.size());
    multicasts.push_back(multicast_of(flow, rails));
  }
  if (multicasts.empty()) return multicasts;
  for (std::size_t number = 0; number < pattern.flows.size(); ++number) {
    const Flow& flow = pattern.flows[number];
    if (flow.source != flow.target || flow.size == Bytes(0)) continue;
    for (const std::size_t i : by_source[flow.source]) {
      Multicast& multicast = multicasts[i];
      if (multicast.local.empty() || !is_own_share_of(flow, multicast)) continue;
      if (std::exchange(multicast.give_back, true)) continue;
      given_back.push_back(number);
      break;
    }
  }
  return multicasts;
}

}  // namespace

std::vector<Multicast> sort_flows(const Pattern& pattern, const RailMap& rails,
                                  const CompileOptions& options,
                                  const std::function<void(const PairFlow&)>& add) {
  const bool expand = options.algorithm == Algorithm::kP2p;
  std::vector<std::size_t> given_back;
  std::vector<Multicast> multicasts;
  if (!expand) multicasts = multicasts_of(pattern, rails, given_back);
  auto skipped = given_back.begin();
  for (std::size_t number = 0; number < pattern.flows.size(); ++number) {
    const Flow& flow = pattern.flows[number];
    if (flow.size == Bytes(0)) continue;
    if (skipped != given_back.end() && *skipped == number) {
      ++skipped;
    } else if (flow.more_targets.empty()) {
      add(to_one(flow, flow.target));
    } else if (expand) {
      for (const Rank target : targets_of(flow)) add(to_one(flow, target));
    }
  }
  return multicasts;
}

}  // namespace hoccl::engine
