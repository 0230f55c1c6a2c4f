#include "sim/rivals/nccl_job.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/rooted.h"
#include "engine/rank_share.h"
#include "engine/topology/rail_relay.h"
#include "engine/traffic.h"
#include "sim/rivals/nccl_channels.h"
#include "sim/rivals/nccl_local_copy.h"
#include "sim/rivals/nccl_network_pipe.h"
#include "sim/rivals/nccl_nvlink_pipe.h"
#include "sim/rivals/nccl_requirements.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::Rank;
using engine::SendRecvRequest;
using engine::Topology;

NcclJob::NcclJob(NcclEnvironment environment, const NcclOptions& options)
    : environment_(std::move(environment)),
      options_(options),
      schedule_(environment_.topology),
      sms_(environment_.topology.gpu_count()) {
  HOCCL_CHECK(options.channels >= 1 && options.ring_nics >= 1, "{} channels, {} NICs",
              options.channels, options.ring_nics);
  require_nccl_topology(environment_.topology);
  const auto ranks = static_cast<std::size_t>(environment_.topology.rank_count());
  proxies_ = std::vector(ranks, CpuClock(environment_.clock));
  launchers_ = std::vector(ranks, CpuClock(environment_.clock));
  submit_times_.assign(ranks, engine::Seconds(0.0));
}

engine::Seconds NcclJob::proxy_time(Rank rank) const { return proxies_[rank.index()].busy_time(); }

engine::Seconds NcclJob::launch_time(Rank rank) const {
  return launchers_[rank.index()].busy_time();
}

engine::Seconds NcclJob::submit_time(Rank rank) const { return submit_times_[rank.index()]; }

engine::Seconds NcclJob::launch(Rank rank) {
  return launchers_[rank.index()].advance(environment_.constants.kernel_launch);
}

std::unique_ptr<NcclPipe> NcclJob::make_network_pipe(Rank source, Rank target, Use use) {
  const Topology& topology = environment_.topology;
  // Only messages go by way of another GPU: ring neighbours are chosen for their NICs.
  const bool relayed = options_.pxn && use == Use::kMessages;
  const Rank relay = relayed ? engine::rail_relay(topology, source, target) : source;
  std::optional<RouteId> to_relay;
  if (relay != source) {
    to_relay = environment_.nvlink_route(topology.gpu_of(source), topology.gpu_of(relay));
  }
  // NCCL keeps all channels of a peer on one NIC: the GPU's own, here the first.
  return std::make_unique<NcclNetworkPipe>(
      environment_,
      NcclNetworkPipe::Ends{
          .source_nic = topology.nics_of(topology.gpu_of(relay)).front(),
          .target_nic = topology.nics_of(topology.gpu_of(target)).front(),
          .source = relay,
          .target = target,
          .source_proxy = proxies_[relay.index()],
          .target_proxy = proxies_[target.index()],
          .submit_time = submit_times_[relay.index()],
          // A ring's slots are those of the simple protocol's buffer, whatever the transport.
          .step = use == Use::kRing ? environment_.constants.nvlink_step
                                    : environment_.constants.net_step,
          .to_relay = to_relay});
}

NcclPipe& NcclJob::pipe(Rank source, Rank target, int channel, Use use) {
  std::unique_ptr<NcclPipe>& pipe = pipes_[{source, target, channel, use}];
  if (pipe != nullptr) return *pipe;
  const Topology& topology = environment_.topology;
  if (source == target) {
    pipe = std::make_unique<NcclLocalCopy>(environment_.constants);
  } else if (topology.node_of(source) == topology.node_of(target)) {
    pipe = std::make_unique<NcclNvlinkPipe>(
        environment_.constants,
        environment_.nvlink_route(topology.gpu_of(source), topology.gpu_of(target)));
  } else {
    pipe = make_network_pipe(source, target, use);
  }
  return *pipe;
}

void NcclJob::add_group(NcclKernel& kernel, Rank rank, std::span<const SendRecvRequest> requests) {
  struct Side {
    int round = 0;
    int turn = 0;  ///< of several messages to, or from, the same peer
    const SendRecvRequest* request = nullptr;
  };
  const auto sends = [](const SendRecvRequest& request) {
    return request.side == SendRecvRequest::Side::kSend;
  };
  std::vector<Side> sides;
  for (const SendRecvRequest& request : requests) {
    // The receive from oneself is the send's other end.
    if (request.peer == rank && !sends(request)) continue;
    const int round = sends(request) ? schedule_.round_of(rank, request.peer)
                                     : schedule_.round_of(request.peer, rank);
    const auto turn = std::ranges::count_if(sides, [&](const Side& side) {
      return side.round == round && sends(*side.request) == sends(request);
    });
    sides.push_back({round, static_cast<int>(turn), &request});
  }
  // The i-th send of a round goes with its i-th receive, or batches could wait for each other.
  std::ranges::stable_sort(sides, {},
                           [](const Side& side) { return std::pair(side.round, side.turn); });
  for (const Side& side : sides) {
    const SendRecvRequest& request = *side.request;
    const bool sending = sends(request);
    const Rank source = sending ? rank : request.peer;
    const Rank target = sending ? request.peer : rank;
    const std::vector<Bytes> parts =
        split_over_channels(environment_.topology, environment_.constants, options_.channels,
                            source, target, request.buffer.size);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int channel = schedule_.channel_of(side.round, static_cast<int>(i), options_.channels);
      kernel.add_part(pipe(source, target, channel, Use::kMessages), channel, sending, parts[i],
                      side.round);
    }
  }
}

std::vector<Rank> NcclJob::ring_order(const std::vector<Rank>& members, int channel) const {
  const Topology& topology = environment_.topology;
  std::vector<std::vector<Rank>> by_node(static_cast<std::size_t>(topology.node_count()));
  for (const Rank rank : members) by_node[topology.node_of(rank).index()].push_back(rank);
  std::vector<Rank> order;
  for (std::vector<Rank>& ranks : by_node) {
    if (ranks.empty()) continue;
    const auto start =
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(channel) %
                                    static_cast<std::size_t>(options_.ring_nics) % ranks.size());
    std::ranges::rotate(ranks, ranks.begin() + start);
    order.insert(order.end(), ranks.begin(), ranks.end());
  }
  return order;
}

void NcclJob::add_ring(NcclKernel& kernel, Rank rank, NcclRingKind kind, Bytes block,
                       const std::vector<Rank>& members, Rank root) {
  const std::vector<Bytes> parts =
      split_over_rings(environment_.constants, options_.channels, block);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int channel = static_cast<int>(i);
    std::vector<Rank> order = ring_order(members, channel);
    if (kind == NcclRingKind::kBroadcast) {
      std::ranges::rotate(order, std::ranges::find(order, root));
    }
    const auto size = static_cast<int>(order.size());
    const auto position = static_cast<int>(std::ranges::find(order, rank) - order.begin());
    HOCCL_CHECK(position < size, "rank {} is in no ring", rank);
    const auto at = [&](int index) {
      return order[static_cast<std::size_t>((index + size) % size)];
    };
    // One rank alone moves nothing.
    const Bytes moved = size == 1 ? Bytes(0) : parts[i];
    kernel.add_ring(pipe(at(position - 1), rank, channel, Use::kRing),
                    pipe(rank, at(position + 1), channel, Use::kRing), channel,
                    {.kind = kind,
                     .rank_count = size,
                     .position = position,
                     .block = moved,
                     .slice = environment_.constants.nvlink_step});
  }
}

const engine::Pattern& NcclJob::pattern_of(const engine::CollectiveRequest& request) {
  if (known_request_ != request.pattern || known_matrix_ != request.matrix) {
    engine::Traffic traffic;
    traffic.request = request.pattern;
    traffic.matrix = request.matrix;
    known_pattern_ =
        engine::pattern_of(traffic, request.pattern.size, environment_.topology.rank_count());
    known_request_ = request.pattern;
    known_matrix_ = request.matrix;
  }
  return known_pattern_;
}

void NcclJob::add_collective(NcclKernel& kernel, Rank rank,
                             const engine::CollectiveRequest& request) {
  const engine::PatternRequest& pattern = request.pattern;
  engine::Traffic traffic;
  traffic.request = pattern;
  const std::vector<Rank> members = engine::members_of(traffic, environment_.topology.rank_count());
  const auto count = static_cast<std::int64_t>(members.size());
  if (pattern.name == engine::kAllGatherName && count > 1) {
    // NCCL's blocks are equal: what does not divide evenly is rounded up.
    const Bytes block(chunk_count(pattern.size, Bytes(count)));
    add_ring(kernel, rank, NcclRingKind::kAllGather, block, members, members.front());
    return;
  }
  if (pattern.name == engine::kBroadcastName) {
    add_ring(kernel, rank, NcclRingKind::kBroadcast, pattern.size, members,
             members[pattern.root.index()]);
    return;
  }
  add_group(kernel, rank,
            engine::requests_of(pattern_of(request).flows, rank, request.send_buffer,
                                request.receive_buffer));
}

}  // namespace hoccl::sim
