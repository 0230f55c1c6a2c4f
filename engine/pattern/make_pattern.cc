#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/base/config_error.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/group.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/request_check.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/sendrecv.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {
namespace {

struct NamedPattern {
  std::string_view name;
  Pattern (*make)(const PatternRequest& request, int rank_count);
};

Pattern drawn_all_to_all_v(const PatternRequest& request, int rank_count) {
  require_rank_count(kAllToAllVName, rank_count, 1, kMaxPairwiseRanks);
  require_size(kAllToAllVName, request.size);
  return all_to_all_v(draw_matrix(request.matrix, rank_count, request.size, request.seed),
                      request.in_place);
}

constexpr std::array kPatterns = {
    NamedPattern{kSendRecvName,
                 [](const PatternRequest& request, int rank_count) {
                   return send_recv(rank_count, request.source, request.target, request.size);
                 }},
    NamedPattern{kSendRecvRingName,
                 [](const PatternRequest& request, int rank_count) {
                   return send_recv_ring(rank_count, request.size);
                 }},
    NamedPattern{kAllGatherName,
                 [](const PatternRequest& request, int rank_count) {
                   return all_gather(rank_count, request.size, request.in_place);
                 }},
    NamedPattern{kAllToAllName,
                 [](const PatternRequest& request, int rank_count) {
                   return all_to_all(rank_count, request.size, request.in_place);
                 }},
    NamedPattern{kAllToAllVName, drawn_all_to_all_v},
    NamedPattern{kBroadcastName,
                 [](const PatternRequest& request, int rank_count) {
                   return broadcast(rank_count, request.root, request.size, request.in_place);
                 }},
    NamedPattern{kGatherName,
                 [](const PatternRequest& request, int rank_count) {
                   return gather(rank_count, request.root, request.size, request.in_place);
                 }},
    NamedPattern{kScatterName,
                 [](const PatternRequest& request, int rank_count) {
                   return scatter(rank_count, request.root, request.size, request.in_place);
                 }},
    NamedPattern{kPpChainName, [](const PatternRequest& request,
                                  int rank_count) { return pp_chain(rank_count, request.size); }},
};

}  // namespace

std::vector<std::string_view> pattern_names() {
  std::vector<std::string_view> names;
  for (const NamedPattern& pattern : kPatterns) names.push_back(pattern.name);
  return names;
}

Pattern make_pattern(const PatternRequest& request, int rank_count) {
  const auto found = std::ranges::find(kPatterns, request.name, &NamedPattern::name);
  if (found == kPatterns.end()) {
    throw ConfigError(fmt::format("pattern = '{}': expected one of: {}", request.name,
                                  fmt::join(pattern_names(), ", ")));
  }
  const auto of_class = [&](Pattern pattern) {
    for (Flow& flow : pattern.flows) flow.flow_class = request.flow_class;
    return pattern;
  };
  if (request.group.empty()) return of_class(found->make(request, rank_count));
  require_rank_count(request.name, rank_count, 1, kMaxRanks);
  require_group(request.name, request.group, rank_count);
  return of_class(on_group(found->make(request, static_cast<int>(request.group.size())),
                           request.group, rank_count));
}

}  // namespace hoccl::engine
