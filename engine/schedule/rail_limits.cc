#include "engine/schedule/rail_limits.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

/// Share of V that a GPU reaches while its one copy engine serves both directions. With all of V, a
/// plan asks more of the busiest GPUs than they can do in the time (worst of 20 sparse matrices on
/// 2x8, simulated: 86 % of the bound of balanced rails, 89 with 0.9).
constexpr double kReachable = 0.9;
/// Halvings of the interval that holds the time: below a chunk's after so many.
constexpr int kSteps = 48;

double own_bytes(const Demand& demand, const Topology& topology, GpuId gpu, bool sends) {
  const std::optional<Rank> rank = topology.rank_on(gpu);
  if (!rank) return 0.0;
  // What is to be sent comes into the memory of the GPU that relays it, as what it receives does.
  return static_cast<double>((sends ? demand.received_by(*rank) : demand.sent_by(*rank)).count());
}

/// The height up to which buckets of these sizes, filled evenly, hold `total`.
double level_of(std::vector<double> sizes, double total) {
  std::ranges::sort(sizes);
  double below = 0.0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto open = static_cast<double>(sizes.size() - i);
    if (below + sizes[i] * open >= total) return (total - below) / open;
    below += sizes[i];
  }
  return sizes.back();
}

}  // namespace

RailLimits::RailLimits(const Demand& demand, const RailMap& rails)
    : demand_(&demand), rails_(&rails) {
  const Topology& topology = rails.topology();
  double time = 0.0;
  for (int i = 0; i < topology.rank_count(); ++i) {
    time = std::max({time, (demand.sent_by(Rank(i)) / topology.nvlink().out).count(),
                     (demand.received_by(Rank(i)) / topology.nvlink().in).count()});
  }
  for (int i = 0; i < topology.node_count(); ++i) {
    for (const bool sends : {true, false}) {
      Side side = side_of(NodeId(i), sends);
      time = std::max(time, shortest_time(side));
      (sends ? sending_ : receiving_).push_back(std::move(side));
    }
  }
  for (auto* sides : {&sending_, &receiving_}) {
    for (Side& side : *sides) {
      side.limits = limits_at(side, time);
      const double even = side.total / static_cast<double>(side.limits.size());
      needed_ |= std::ranges::any_of(side.limits, [even](double limit) { return limit < even; });
    }
  }
}

RailLimits::Side RailLimits::side_of(NodeId node, bool sends) const {
  const Topology& topology = rails_->topology();
  Side side;
  for (int other = 0; other < demand_->node_count(); ++other) {
    if (other == node.value()) continue;
    const auto bytes =
        sends ? demand_->bytes()(node.value(), other) : demand_->bytes()(other, node.value());
    side.total += static_cast<double>(bytes);
  }
  side.nvlink = kReachable * (sends ? topology.nvlink().in : topology.nvlink().out).value();
  for (const NicId id : topology.nics_of(node)) {
    const Nic& nic = topology.nic(id);
    side.rails.push_back({.rate = nic.rate.value(),
                          .own = own_bytes(*demand_, topology, nic.gpu, sends),
                          .beside = static_cast<double>(topology.nics_of(nic.gpu).size())});
  }
  return side;
}

std::vector<double> RailLimits::limits_at(const Side& side, double time) {
  std::vector<double> limits;
  for (const Side::Rail& rail : side.rails) {
    const double spare = std::max(0.0, side.nvlink * time - rail.own) / rail.beside;
    limits.push_back(std::min(rail.rate * time, spare));
  }
  return limits;
}

double RailLimits::shortest_time(const Side& side) {
  const auto suffices = [&](double time) {
    double sum = 0.0;
    for (const double limit : limits_at(side, time)) sum += limit;
    return sum >= side.total;
  };
  double rates = 0.0;
  double high = 0.0;
  for (const Side::Rail& rail : side.rails) {
    rates += rail.rate;
    high = std::max(high, rail.own / side.nvlink);
  }
  double low = side.total / rates;
  if (suffices(low)) return low;
  // Then every GPU has time for its whole NIC beside its own bytes.
  high += low + side.total / side.nvlink;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = 0.5 * (low + high);
    (suffices(middle) ? high : low) = middle;
  }
  return high;
}

std::span<const std::int64_t> RailLimits::already_carried(NodeId source, NodeId target) {
  carried_.clear();
  if (!needed_) return {};
  const auto bytes = static_cast<double>(demand_->bytes()(source.value(), target.value()));
  if (bytes == 0.0) return {};
  const Side& from = sending_[source.index()];
  const Side& into = receiving_[target.index()];
  std::vector<double> shares;
  for (std::size_t rail = 0; rail < from.limits.size(); ++rail) {
    shares.push_back(std::min(from.limits[rail] * (bytes / from.total),
                              into.limits[rail] * (bytes / into.total)));
  }
  const double level = level_of(shares, bytes);
  if (std::ranges::min(shares) >= level) return {};
  for (double& share : shares) share = std::min(share, level);
  const double most = std::ranges::max(shares);
  for (const double share : shares) carried_.push_back(std::llround(most - share));
  return carried_;
}

}  // namespace hoccl::engine
