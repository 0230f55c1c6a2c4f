#include "engine/rank_share.h"

#include <algorithm>

namespace hoccl::engine {
namespace {

Region part(const Region& buffer, Bytes offset, Bytes size) {
  return {.buffer = buffer.buffer, .offset = buffer.offset + offset, .size = size};
}

}  // namespace

std::vector<Flow> flows_of(const Plan& plan) {
  std::vector<Flow> flows;
  for (const Transfer& transfer : plan.transfers) {
    for (const Rank target : targets_of(transfer)) {
      flows.push_back({.source = transfer.source,
                       .target = target,
                       .source_offset = transfer.source_offset,
                       .target_offset = transfer.target_offset,
                       .size = transfer.size});
    }
  }
  return flows;
}

BufferSizes buffer_sizes(std::span<const Flow> flows, Rank rank) {
  BufferSizes sizes;
  for (const Flow& flow : flows) {
    if (flow.source == rank) sizes.send = std::max(sizes.send, flow.source_offset + flow.size);
    if (flow.target == rank) {
      sizes.receive = std::max(sizes.receive, flow.target_offset + flow.size);
    }
  }
  return sizes;
}

std::vector<SendRecvRequest> requests_of(std::span<const Flow> flows, Rank rank,
                                         const Region& send_buffer, const Region& receive_buffer) {
  using Side = SendRecvRequest::Side;
  std::vector<SendRecvRequest> requests;
  for (const Flow& flow : flows) {
    if (flow.source == rank) {
      requests.push_back(
          {Side::kSend, flow.target, part(send_buffer, flow.source_offset, flow.size)});
    }
    if (flow.target == rank) {
      requests.push_back(
          {Side::kReceive, flow.source, part(receive_buffer, flow.target_offset, flow.size)});
    }
  }
  return requests;
}

}  // namespace hoccl::engine
