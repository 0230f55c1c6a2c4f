// Draws what is to be moved.

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/pattern/group.h"
#include "engine/traffic.h"
#include "tests/fuzz/schedule_case.h"

namespace hoccl::engine {
namespace {

/// Chunks that all targets together receive: keeps a case at a few milliseconds.
constexpr std::int64_t kMostDeliveries = 400;
constexpr std::int64_t kMostChunksPerFlow = 12;
constexpr int kMostFlows = 12;

int draw(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

std::int64_t deliveries_of(const Pattern& pattern, Bytes chunk) {
  std::int64_t count = 0;
  for (const Flow& flow : pattern.flows) {
    count += chunk_count(flow.size, chunk) * static_cast<std::int64_t>(targets_of(flow).size());
  }
  return count;
}

/// Of one flow: empty, a few bytes, whole chunks, or anything.
Bytes draw_flow_size(Random& random, Bytes chunk) {
  const double kind = random.uniform();
  if (kind < 0.04) return Bytes(0);
  if (kind < 0.15) return Bytes(random.between(1, 16));
  if (kind < 0.35) return chunk * random.between(1, kMostChunksPerFlow);
  return Bytes(random.between(1, chunk.count() * kMostChunksPerFlow));
}

/// Each with this chance, ascending.
std::vector<Rank> draw_ranks(Random& random, int rank_count, double chance) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < rank_count; ++rank) {
    if (random.chance(chance)) ranks.emplace_back(rank);
  }
  return ranks;
}

/// Patterns that ask for one message say its size, others that of a rank's whole buffer.
bool counts_one_flow(const std::string& name) {
  return name == "sendrecv" || name == "sendrecv-ring" || name == "broadcast" || name == "ppchain";
}

PatternRequest draw_request(Random& random, int rank_count, Bytes chunk) {
  const std::vector<std::string_view> names = pattern_names();
  PatternRequest request;
  request.name = names[static_cast<std::size_t>(random.between(0, std::ssize(names) - 1))];
  if (random.chance(0.25)) request.group = draw_ranks(random, rank_count, 0.6);
  const int ranks = request.group.empty() ? rank_count : static_cast<int>(request.group.size());
  request.source = Rank(draw(random, 0, ranks - 1));
  request.target = Rank((request.source.value() + draw(random, 1, std::max(1, ranks - 1))) % ranks);
  request.root = Rank(draw(random, 0, ranks - 1));
  request.in_place = random.chance(0.5);
  const std::vector<MatrixKind> kinds = matrix_kinds();
  request.matrix = kinds[static_cast<std::size_t>(random.between(0, std::ssize(kinds) - 1))];
  request.seed = random.next();
  const Bytes size = draw_flow_size(random, chunk);
  request.size = counts_one_flow(request.name) ? size : size * ranks;
  if (random.chance(0.5)) request.size += Bytes(random.between(0, ranks));
  return request;
}

DrawnPattern draw_known(Random& random, int rank_count, Bytes chunk) {
  PatternRequest request = draw_request(random, rank_count, chunk);
  DrawnPattern result{make_pattern(request, rank_count)};
  for (std::int64_t before = 0; before != request.size.count();) {
    if (deliveries_of(result.pattern, chunk) <= kMostDeliveries) break;
    before = request.size.count();
    request.size = request.size / 2;
    result.pattern = make_pattern(request, rank_count);
  }
  if (request.name == kAllToAllVName) {
    const Traffic traffic{.request = request};
    result.counted = {
        matrix_of_job(*matrix_of(traffic, request.size, rank_count), request.group, rank_count),
        request.in_place};
  }
  return result;
}

/// Flows into room of their own at every target, so that no byte is written twice.
Pattern draw_flow_list(Random& random, int rank_count, Bytes chunk) {
  Pattern pattern;
  pattern.name = "drawn";
  pattern.rank_count = rank_count;
  std::map<Rank, Bytes> room;
  const auto add = [&](Flow flow) {
    for (const Rank target : targets_of(flow)) {
      flow.target_offset = std::max(flow.target_offset, room[target]);
    }
    for (const Rank target : targets_of(flow)) room[target] = flow.target_offset + flow.size;
    pattern.flows.push_back(flow);
    return flow;
  };
  for (int left = draw(random, 1, kMostFlows); left > 0; --left) {
    Flow flow;
    flow.source = Rank(draw(random, 0, rank_count - 1));
    flow.source_offset = Bytes(random.chance(0.5) ? 0 : random.between(0, 3 * chunk.count()));
    flow.target_offset = Bytes(random.chance(0.5) ? 0 : random.between(0, 2 * chunk.count()));
    flow.size = draw_flow_size(random, chunk);
    if (random.chance(0.2)) flow.flow_class = FlowClass::kBackground;
    std::vector<Rank> targets = draw_ranks(random, rank_count, random.chance(0.5) ? 0.2 : 0.7);
    std::erase(targets, flow.source);
    if (targets.empty() || random.chance(0.3)) targets = {Rank(draw(random, 0, rank_count - 1))};
    flow.target = targets.front();
    flow.more_targets.assign(targets.begin() + 1, targets.end());
    const Flow added = add(flow);
    if (added.more_targets.empty() || !random.chance(0.4)) continue;
    // Its own copy of what it sends to others, perhaps where they have it.
    Flow own = added;
    own.target = own.source;
    own.more_targets.clear();
    add(own);
  }
  while (deliveries_of(pattern, chunk) > kMostDeliveries) pattern.flows.pop_back();
  for (const Flow& flow : pattern.flows) {
    pattern.message_size = std::max(pattern.message_size, flow.source_offset + flow.size);
  }
  return pattern;
}

}  // namespace

DrawnPattern draw_pattern(Random& random, int rank_count, Bytes chunk) {
  if (random.chance(0.25)) return {draw_flow_list(random, rank_count, chunk)};
  while (true) {
    try {
      return draw_known(random, rank_count, chunk);
    } catch (const ConfigError&) {
      // Not for so few ranks: another one.
    }
  }
}

}  // namespace hoccl::engine
