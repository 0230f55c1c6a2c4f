#pragma once

#include <string_view>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {

inline constexpr std::string_view kSendRecvName = "sendrecv";
inline constexpr std::string_view kSendRecvRingName = "sendrecv-ring";
inline constexpr std::string_view kPpChainName = "ppchain";

/// One rank sends `size` bytes to another. Throws ConfigError when a rank is outside
/// [0, rank_count), both are the same, or the size is outside [0, kMaxMessageSize].
Pattern send_recv(int rank_count, Rank source, Rank target, Bytes size);

/// Every rank sends `size` bytes to the next one, the last to the first: what nccl-tests'
/// sendrecv_perf runs (src/sendrecv.cu). Throws ConfigError for fewer than 2 ranks or a size
/// outside [0, kMaxMessageSize].
Pattern send_recv_ring(int rank_count, Bytes size);

/// Every rank but the last sends `size` bytes to the next one: all hops of a pipeline of stages
/// (pipeline parallelism) at once, its steady state. Throws as send_recv_ring.
Pattern pp_chain(int rank_count, Bytes size);

}  // namespace hoccl::engine
