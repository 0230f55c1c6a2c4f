#pragma once

#include <span>
#include <vector>

#include "engine/collective_system.h"
#include "engine/pattern/flow.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// What the transfers of a plan move, one flow per target. Where a transfer passes on what another
/// has brought, the source is the rank that had the bytes first, and the offset is there.
std::vector<Flow> flows_of(const Plan& plan);

/// Whether the rank is the target or one of several.
bool is_for(const Flow& flow, Rank rank);

/// Ranks that send or receive any of the flows, ascending.
std::vector<Rank> ranks_of(std::span<const Flow> flows, int rank_count);

/// Bytes that a rank's buffers must have for the flows; zero where it has none.
struct BufferSizes {
  Bytes send;
  Bytes receive;
};
BufferSizes buffer_sizes(std::span<const Flow> flows, Rank rank);
/// Of all ranks in one pass, by rank.
std::vector<BufferSizes> buffer_sizes_by_rank(std::span<const Flow> flows, int rank_count);

/// The sends and receives that a rank calls for the flows, on its two buffers. For flows with one
/// target each.
std::vector<SendRecvRequest> requests_of(std::span<const Flow> flows, Rank rank,
                                         const Region& send_buffer, const Region& receive_buffer);

}  // namespace hoccl::engine
