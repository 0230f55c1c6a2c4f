#include "engine/pattern/rooted.h"

#include <utility>

#include "engine/pattern/request_check.h"
#include "engine/pattern/share.h"

namespace hoccl::engine {
namespace {

Pattern empty_pattern(std::string_view name, int rank_count, Rank root, Bytes size) {
  require_rank_count(name, rank_count, 1, kMaxRanks);
  require_size(name, size);
  require_rank(name, "root", root, rank_count);
  Pattern pattern;
  pattern.name = name;
  pattern.rank_count = rank_count;
  pattern.message_size = size;
  return pattern;
}

/// Calls add(rank, offset, size) for every share that is moved, the root's last.
template <class Add>
void for_each_share(const Pattern& pattern, Rank root, bool in_place, Add add) {
  const auto visit = [&](int rank) {
    const Bytes size = share_size(pattern.message_size, pattern.rank_count, rank);
    if (size == Bytes(0)) return;
    add(Rank(rank), share_begin(pattern.message_size, pattern.rank_count, rank), size);
  };
  for (int rank = 0; rank < pattern.rank_count; ++rank) {
    if (Rank(rank) != root) visit(rank);
  }
  if (!in_place) visit(root.value());
}

}  // namespace

Pattern broadcast(int rank_count, Rank root, Bytes size, bool in_place) {
  Pattern pattern = empty_pattern(kBroadcastName, rank_count, root, size);
  pattern.size_meaning = "bytes of the root's buffer, all of which every rank receives";
  // nccl-tests' BroadcastGetBw.
  pattern.busbw_factor = 1.0;
  if (size == Bytes(0)) return pattern;
  Flow flow;
  flow.source = root;
  flow.size = size;
  for (int rank = 0; rank < rank_count; ++rank) {
    if (Rank(rank) == root) continue;
    if (flow.target.is_none()) {
      flow.target = Rank(rank);
    } else {
      flow.more_targets.emplace_back(rank);
    }
  }
  if (rank_count > 1) pattern.flows.push_back(std::move(flow));
  if (!in_place) {
    pattern.flows.push_back({.source = root,
                             .target = root,
                             .source_offset = Bytes(0),
                             .target_offset = Bytes(0),
                             .size = size});
  }
  return pattern;
}

Pattern gather(int rank_count, Rank root, Bytes size, bool in_place) {
  Pattern pattern = empty_pattern(kGatherName, rank_count, root, size);
  pattern.size_meaning = "bytes that the root receives, of which each rank sends its share";
  pattern.busbw_factor = others_share(rank_count);
  for_each_share(pattern, root, in_place, [&](Rank rank, Bytes offset, Bytes share) {
    pattern.flows.push_back({.source = rank,
                             .target = root,
                             .source_offset = Bytes(0),
                             .target_offset = offset,
                             .size = share});
  });
  return pattern;
}

Pattern scatter(int rank_count, Rank root, Bytes size, bool in_place) {
  Pattern pattern = empty_pattern(kScatterName, rank_count, root, size);
  pattern.size_meaning = "bytes that the root sends, of which each rank receives its share";
  pattern.busbw_factor = others_share(rank_count);
  for_each_share(pattern, root, in_place, [&](Rank rank, Bytes offset, Bytes share) {
    pattern.flows.push_back({.source = root,
                             .target = rank,
                             .source_offset = offset,
                             .target_offset = Bytes(0),
                             .size = share});
  });
  return pattern;
}

}  // namespace hoccl::engine
