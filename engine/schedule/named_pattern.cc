#include "engine/schedule/named_pattern.h"

#include <algorithm>

#include "engine/base/config_error.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/sendrecv.h"

namespace hoccl::engine {
namespace {

/// Ascending.
std::vector<Rank> taking_part(const Plan& plan, const std::vector<Delivery>& deliveries) {
  std::vector<bool> takes_part(static_cast<std::size_t>(plan.rank_count), false);
  for (const Delivery& delivery : deliveries) {
    takes_part[delivery.origin.index()] = true;
    takes_part[delivery.target.index()] = true;
  }
  std::vector<Rank> ranks;
  for (std::size_t rank = 0; rank < takes_part.size(); ++rank) {
    if (takes_part[rank]) ranks.emplace_back(rank);
  }
  return ranks;
}

std::optional<Pattern> made(const PatternRequest& request, int rank_count) {
  try {
    return make_pattern(request, rank_count);
  } catch (const ConfigError&) {
    return std::nullopt;  // no such pattern, whatever the plan says
  }
}

}  // namespace

std::optional<Pattern> named_pattern(const Plan& plan, const std::vector<Delivery>& deliveries) {
  if (deliveries.empty()) return std::nullopt;
  PatternRequest request{.name = plan.pattern, .size = plan.message_size};
  if (plan.pattern == kSendRecvName) {
    request.source = deliveries.front().origin;
    request.target = deliveries.front().target;
    return made(request, plan.rank_count);
  }
  // Rank of the job first; then its position in the group.
  Rank root(0);
  if (plan.pattern == kBroadcastName || plan.pattern == kScatterName) {
    root = deliveries.front().origin;
  } else if (plan.pattern == kGatherName) {
    root = deliveries.front().target;
  } else if (plan.pattern != kSendRecvRingName && plan.pattern != kPpChainName &&
             plan.pattern != kAllGatherName && plan.pattern != kAllToAllName) {
    return std::nullopt;
  }
  // Where shares are empty, who is in the group cannot be told.
  if (plan.message_size < Bytes(plan.rank_count)) return std::nullopt;
  request.group = taking_part(plan, deliveries);
  request.root = Rank(std::ranges::find(request.group, root) - request.group.begin());
  request.in_place = std::ranges::none_of(
      deliveries, [](const Delivery& delivery) { return delivery.origin == delivery.target; });
  return made(request, plan.rank_count);
}

}  // namespace hoccl::engine
