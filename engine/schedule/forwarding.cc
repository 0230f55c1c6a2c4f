#include "engine/schedule/forwarding.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/base/check.h"
#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

bool can_stage(const Topology& topology, NicId nic, GpuId end_point) {
  const PlaceId place = topology.place_of(nic);
  if (topology.is_host(place)) return true;
  return topology.gpu(topology.gpu_of(place)).physical != topology.gpu(end_point).physical;
}

/// The local GPUs in the order in which their NICs are preferred for this end point.
std::vector<GpuId> preferred_gpus(const Topology& topology, GpuId end_point) {
  std::vector<GpuId> order;
  // A slot in host memory is as near to the end point itself as to its partner.
  if (topology.staging() == StagingKind::kHost) order.push_back(end_point);
  const GpuId partner = topology.symmetric_partner(end_point);
  if (!partner.is_none()) order.push_back(partner);
  const auto local = topology.gpus_of(topology.gpu(end_point).node);
  const auto own = static_cast<std::size_t>(topology.gpu(end_point).index);
  for (std::size_t step = 1; step < local.size(); ++step) {
    order.push_back(local[(own + step) % local.size()]);
  }
  return order;
}

/// NICs of the first preferred GPU that has one.
std::vector<NicId> symmetric_nics(const Topology& topology, GpuId end_point) {
  for (const GpuId gpu : preferred_gpus(topology, end_point)) {
    const auto nics = topology.nics_of(gpu);
    if (!nics.empty() && can_stage(topology, nics.front(), end_point)) {
      return {nics.begin(), nics.end()};
    }
  }
  return {};
}

/// One side's NICs, each handed out at most once.
class Pool {
 public:
  explicit Pool(std::vector<NicId> nics) : free_(std::move(nics)) {}

  [[nodiscard]] bool has(NicId nic) const { return std::ranges::count(free_, nic) == 1; }
  void take(NicId nic) { std::erase(free_, nic); }
  [[nodiscard]] const std::vector<NicId>& free() const { return free_; }

 private:
  std::vector<NicId> free_;
};

void require_staging(const Topology& topology, Rank rank) {
  if (!staging_nics(topology, topology.gpu_of(rank)).empty()) return;
  const NodeId node = topology.node_of(rank);
  throw ConfigError(fmt::format(
      "topology '{}': node {} has {} GPU(s) and {} NIC(s): expected a NIC next to another GPU than "
      "that of rank {}, because staging = {} keeps slots in a peer GPU's memory",
      topology.name(), node, topology.gpus_of(node).size(), topology.nics_of(node).size(), rank,
      to_string(topology.staging())));
}

}  // namespace

std::string_view to_string(Forwarding forwarding) {
  switch (forwarding) {
    case Forwarding::kSymmetric:
      return "symmetric";
    case Forwarding::kBalanced:
      return "balanced";
    case Forwarding::kOwnNic:
      return "own-nic";
  }
  HOCCL_CHECK(false, "forwarding {}", static_cast<int>(forwarding));
}

Forwarding parse_forwarding(std::string_view name) {
  if (name == "symmetric") return Forwarding::kSymmetric;
  if (name == "balanced") return Forwarding::kBalanced;
  if (name == "own-nic") return Forwarding::kOwnNic;
  throw ConfigError(
      fmt::format("forwarding = '{}': expected balanced, symmetric or own-nic", name));
}

std::vector<NicId> staging_nics(const Topology& topology, GpuId end_point) {
  std::vector<NicId> usable;
  for (const NicId nic : topology.nics_of(topology.gpu(end_point).node)) {
    if (can_stage(topology, nic, end_point)) usable.push_back(nic);
  }
  return usable;
}

std::vector<NicPair> candidate_pairs(const Topology& topology, Rank source, Rank target) {
  require_staging(topology, source);
  require_staging(topology, target);
  const GpuId source_gpu = topology.gpu_of(source);
  const GpuId target_gpu = topology.gpu_of(target);
  Pool senders(staging_nics(topology, source_gpu));
  Pool receivers(staging_nics(topology, target_gpu));
  std::vector<NicPair> pairs;
  const auto add = [&](NicId send, NicId receive) {
    pairs.push_back({send, receive});
    senders.take(send);
    receivers.take(receive);
  };

  const std::vector<NicId> near_source = symmetric_nics(topology, source_gpu);
  const std::vector<NicId> near_target = symmetric_nics(topology, target_gpu);
  for (std::size_t i = 0; i < std::min(near_source.size(), near_target.size()); ++i) {
    add(near_source[i], near_target[i]);
  }
  for (int rail = 0; rail < topology.rail_count(); ++rail) {
    const NicId send = topology.nic_on_rail(topology.node_of(source), rail);
    const NicId receive = topology.nic_on_rail(topology.node_of(target), rail);
    if (senders.has(send) && receivers.has(receive)) add(send, receive);
  }
  while (!senders.free().empty() && !receivers.free().empty()) {
    add(senders.free().front(), receivers.free().front());
  }
  return pairs;
}

void forward(const Flow& flow, const Topology& topology, Bytes chunk_size, int rails,
             std::vector<Transfer>& transfers) {
  if (flow.size == Bytes(0)) return;
  Transfer piece{.source = flow.source,
                 .target = flow.target,
                 .source_offset = flow.source_offset,
                 .target_offset = flow.target_offset,
                 .size = flow.size,
                 .flow_class = flow.flow_class,
                 .route = Route::kDirect,
                 .send_nic = NicId::none(),
                 .receive_nic = NicId::none(),
                 .stage = 0};
  if (topology.node_of(flow.source) == topology.node_of(flow.target)) {
    transfers.push_back(piece);
    return;
  }
  std::vector<NicPair> pairs = candidate_pairs(topology, flow.source, flow.target);
  if (rails < 1 || static_cast<std::size_t>(rails) > pairs.size()) {
    throw ConfigError(fmt::format("rails = {}: expected 1 to {} from rank {} to rank {} on '{}'",
                                  rails, pairs.size(), flow.source, flow.target, topology.name()));
  }
  piece.route = Route::kStaged;
  pairs.resize(static_cast<std::size_t>(rails));
  stripe(piece, pairs, chunk_size, transfers);
}

void stripe(const Transfer& whole, std::span<const NicPair> pairs, Bytes chunk_size,
            std::vector<Transfer>& transfers) {
  const std::int64_t chunks = chunk_count(whole.size, chunk_size);
  const std::int64_t pieces = std::min(std::ssize(pairs), std::ptrdiff_t{chunks});
  Transfer piece = whole;
  Bytes done(0);
  for (std::int64_t i = 0; i < pieces; ++i) {
    // The last pieces get the odd chunks: the last chunk may be short.
    const std::int64_t share = chunks / pieces + (i >= pieces - chunks % pieces ? 1 : 0);
    piece.source_offset = whole.source_offset + done;
    piece.target_offset = whole.target_offset + done;
    piece.size = std::min(share * chunk_size, whole.size - done);
    piece.send_nic = pairs[static_cast<std::size_t>(i)].send;
    piece.receive_nic = pairs[static_cast<std::size_t>(i)].receive;
    transfers.push_back(piece);
    done += piece.size;
  }
  HOCCL_CHECK(done == whole.size, "{} of {} bytes forwarded", done.count(), whole.size.count());
}

}  // namespace hoccl::engine
