#include "engine/pattern/allgather.h"

#include <utility>
#include <vector>

#include "engine/pattern/request_check.h"
#include "engine/pattern/share.h"

namespace hoccl::engine {
namespace {

/// To every rank but the source, of which there is at least one.
Flow to_all_others(Rank source, int rank_count) {
  std::vector<Rank> others;
  others.reserve(static_cast<std::size_t>(rank_count) - 1);
  for (int rank = 0; rank < rank_count; ++rank) {
    if (Rank(rank) != source) others.emplace_back(rank);
  }
  Flow flow;
  flow.source = source;
  flow.target = others.front();
  flow.more_targets.assign(others.begin() + 1, others.end());
  return flow;
}

}  // namespace

Pattern all_gather(int rank_count, Bytes size, bool in_place) {
  require_rank_count(kAllGatherName, rank_count, 1, kMaxPairwiseRanks);
  require_size(kAllGatherName, size);
  Pattern pattern;
  pattern.name = kAllGatherName;
  pattern.rank_count = rank_count;
  pattern.message_size = size;
  pattern.size_meaning = "bytes of the whole result, of which each rank contributes its share";
  pattern.busbw_factor = others_share(rank_count);
  for (int rank = 0; rank < rank_count; ++rank) {
    const Bytes share = share_size(size, rank_count, rank);
    if (share == Bytes(0)) continue;
    const Bytes begin = share_begin(size, rank_count, rank);
    if (rank_count > 1) {
      Flow flow = to_all_others(Rank(rank), rank_count);
      flow.target_offset = begin;
      flow.size = share;
      pattern.flows.push_back(std::move(flow));
    }
    if (!in_place) {
      pattern.flows.push_back({.source = Rank(rank),
                               .target = Rank(rank),
                               .source_offset = Bytes(0),
                               .target_offset = begin,
                               .size = share});
    }
  }
  return pattern;
}

}  // namespace hoccl::engine
