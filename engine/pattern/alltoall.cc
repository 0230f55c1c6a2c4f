#include "engine/pattern/alltoall.h"

#include "engine/pattern/request_check.h"
#include "engine/pattern/share.h"

namespace hoccl::engine {
namespace {

void require_arguments(int rank_count, Bytes size) {
  require_rank_count(kAllToAllName, rank_count, 1, kMaxPairwiseRanks);
  require_size(kAllToAllName, size);
}

}  // namespace

Pattern all_to_all(int rank_count, Bytes size, bool in_place) {
  require_arguments(rank_count, size);
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

TrafficMatrix all_to_all_matrix(int rank_count, Bytes size) {
  require_arguments(rank_count, size);
  TrafficMatrix matrix(rank_count, rank_count);
  for (int target = 0; target < rank_count; ++target) {
    matrix.col(target).setConstant(share_size(size, rank_count, target).count());
  }
  return matrix;
}

}  // namespace hoccl::engine
