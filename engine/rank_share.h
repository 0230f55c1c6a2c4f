#pragma once

#include <span>
#include <vector>

#include "engine/collective_system.h"
#include "engine/pattern/flow.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// What the transfers of a plan move, one flow per target.
std::vector<Flow> flows_of(const Plan& plan);

/// Bytes that a rank's buffers must have for the flows; zero where it has none.
struct BufferSizes {
  Bytes send;
  Bytes receive;
};
BufferSizes buffer_sizes(std::span<const Flow> flows, Rank rank);

/// The sends and receives that a rank calls for the flows, on its two buffers.
std::vector<SendRecvRequest> requests_of(std::span<const Flow> flows, Rank rank,
                                         const Region& send_buffer, const Region& receive_buffer);

}  // namespace hoccl::engine
