#include "engine/pattern/alltoall.h"

#include "engine/pattern/request_check.h"
#include "engine/pattern/share.h"

namespace hoccl::engine {

Pattern all_to_all(int rank_count, Bytes size, bool in_place) {
  require_rank_count(kAllToAllName, rank_count, 1, kMaxPairwiseRanks);
  require_size(kAllToAllName, size);
  Pattern pattern;
  pattern.name = kAllToAllName;
  pattern.rank_count = rank_count;
  pattern.message_size = size;
  pattern.size_meaning = "bytes of each rank's buffer, one block for every rank";
  pattern.busbw_factor = others_share(rank_count);
  for (int source = 0; source < rank_count; ++source) {
    for (int target = 0; target < rank_count; ++target) {
      // The blocks for one target are all of one size, whoever sends them.
      const Bytes block = share_size(size, rank_count, target);
      if (block == Bytes(0) || (in_place && source == target)) continue;
      pattern.flows.push_back({.source = Rank(source),
                               .target = Rank(target),
                               .source_offset = share_begin(size, rank_count, target),
                               .target_offset = block * source,
                               .size = block});
    }
  }
  return pattern;
}

}  // namespace hoccl::engine
