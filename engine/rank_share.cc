#include "engine/rank_share.h"

#include <algorithm>
#include <unordered_map>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

Region part(const Region& buffer, Bytes offset, Bytes size) {
  return {.buffer = buffer.buffer, .offset = buffer.offset + offset, .size = size};
}

/// Where a transfer's bytes come from at first.
struct Origin {
  Rank source;
  Bytes offset;
};

}  // namespace

std::vector<Flow> flows_of(const Plan& plan) {
  std::vector<Flow> flows;
  std::unordered_map<FlowId, Origin> origins;
  for (const Transfer& transfer : plan.transfers) {
    Origin origin{transfer.source, transfer.source_offset};
    if (!transfer.after.is_none()) {
      const auto before = origins.find(transfer.after);
      HOCCL_CHECK(before != origins.end(), "transfer {} is after {}, which is not before it",
                  transfer.id, transfer.after);
      origin = before->second;
    }
    if (!transfer.id.is_none()) origins.emplace(transfer.id, origin);
    for (const Rank target : targets_of(transfer)) {
      flows.push_back({.source = origin.source,
                       .target = target,
                       .source_offset = origin.offset,
                       .target_offset = transfer.target_offset,
                       .size = transfer.size});
    }
  }
  return flows;
}

bool is_for(const Flow& flow, Rank rank) {
  return flow.target == rank ||
         std::ranges::find(flow.more_targets, rank) != flow.more_targets.end();
}

std::vector<Rank> ranks_of(std::span<const Flow> flows, int rank_count) {
  std::vector<bool> takes_part(static_cast<std::size_t>(rank_count));
  for (const Flow& flow : flows) {
    takes_part[flow.source.index()] = true;
    takes_part[flow.target.index()] = true;
    for (const Rank target : flow.more_targets) takes_part[target.index()] = true;
  }
  std::vector<Rank> ranks;
  for (int rank = 0; rank < rank_count; ++rank) {
    if (takes_part[static_cast<std::size_t>(rank)]) ranks.emplace_back(rank);
  }
  return ranks;
}

BufferSizes buffer_sizes(std::span<const Flow> flows, Rank rank) {
  BufferSizes sizes;
  for (const Flow& flow : flows) {
    if (flow.source == rank) sizes.send = std::max(sizes.send, flow.source_offset + flow.size);
    if (is_for(flow, rank)) {
      sizes.receive = std::max(sizes.receive, flow.target_offset + flow.size);
    }
  }
  return sizes;
}

std::vector<BufferSizes> buffer_sizes_by_rank(std::span<const Flow> flows, int rank_count) {
  std::vector<BufferSizes> sizes(static_cast<std::size_t>(rank_count));
  const auto receives = [&](Rank rank, Bytes end) {
    Bytes& size = sizes[rank.index()].receive;
    size = std::max(size, end);
  };
  for (const Flow& flow : flows) {
    Bytes& send = sizes[flow.source.index()].send;
    send = std::max(send, flow.source_offset + flow.size);
    receives(flow.target, flow.target_offset + flow.size);
    for (const Rank target : flow.more_targets) receives(target, flow.target_offset + flow.size);
  }
  return sizes;
}

std::vector<SendRecvRequest> requests_of(std::span<const Flow> flows, Rank rank,
                                         const Region& send_buffer, const Region& receive_buffer) {
  using Side = SendRecvRequest::Side;
  std::vector<SendRecvRequest> requests;
  for (const Flow& flow : flows) {
    HOCCL_CHECK(flow.more_targets.empty(), "a flow of rank {} to several ranks is no send",
                flow.source);
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
