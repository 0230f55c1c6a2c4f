#include "engine/pattern/sendrecv.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"
#include "engine/pattern/request_check.h"

namespace hoccl::engine {
namespace {

void require_ranks_and_size(std::string_view name, int rank_count, Bytes size) {
  require_rank_count(name, rank_count, 2, kMaxRanks);
  require_size(name, size);
}

// nccl-tests' SendRecvGetBw: count is what one rank sends, and the factor is 1.
Pattern empty_pattern(std::string_view name, int rank_count, Bytes size) {
  Pattern pattern;
  pattern.name = name;
  pattern.rank_count = rank_count;
  pattern.message_size = size;
  pattern.size_meaning = "bytes each sender sends";
  pattern.busbw_factor = 1.0;
  return pattern;
}

/// The first `senders` ranks send to the next one, the last rank to the first.
Pattern to_next(std::string_view name, int rank_count, int senders, Bytes size) {
  require_ranks_and_size(name, rank_count, size);
  Pattern pattern = empty_pattern(name, rank_count, size);
  for (int rank = 0; rank < senders; ++rank) {
    pattern.flows.push_back({.source = Rank(rank),
                             .target = Rank((rank + 1) % rank_count),
                             .source_offset = Bytes(0),
                             .target_offset = Bytes(0),
                             .size = size});
  }
  return pattern;
}

}  // namespace

Pattern send_recv(int rank_count, Rank source, Rank target, Bytes size) {
  require_ranks_and_size(kSendRecvName, rank_count, size);
  require_rank(kSendRecvName, "source", source, rank_count);
  require_rank(kSendRecvName, "target", target, rank_count);
  if (source == target) {
    throw ConfigError(fmt::format("pattern {}: target = {}: expected another rank than the source",
                                  kSendRecvName, target));
  }
  Pattern pattern = empty_pattern(kSendRecvName, rank_count, size);
  pattern.flows.push_back({.source = source,
                           .target = target,
                           .source_offset = Bytes(0),
                           .target_offset = Bytes(0),
                           .size = size});
  return pattern;
}

Pattern send_recv_ring(int rank_count, Bytes size) {
  return to_next(kSendRecvRingName, rank_count, rank_count, size);
}

Pattern pp_chain(int rank_count, Bytes size) {
  return to_next(kPpChainName, rank_count, rank_count - 1, size);
}

}  // namespace hoccl::engine
