#include "tests/sim/machine/reference_flows.h"

#include <algorithm>

namespace hoccl::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Room left on a link, as a fraction of its capacity, below which it counts as full.
constexpr double kFull = 1e-13;

}  // namespace

std::vector<double> reference_rates(const std::vector<double>& capacities,
                                    const std::vector<const ReferenceFlow*>& flows) {
  std::vector<double> rates(flows.size(), 0.0);
  std::vector<bool> growing(flows.size(), true);
  std::vector<double> room = capacities;
  std::vector<int> growing_over(capacities.size(), 0);
  for (const ReferenceFlow* flow : flows) {
    for (const std::size_t link : flow->links) ++growing_over[link];
  }
  for (std::size_t left = flows.size(); left > 0;) {
    double raise = kNever;
    for (std::size_t link = 0; link < room.size(); ++link) {
      if (growing_over[link] > 0) raise = std::min(raise, room[link] / growing_over[link]);
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (growing[i]) raise = std::min(raise, flows[i]->limit - rates[i]);
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!growing[i]) continue;
      rates[i] += raise;
      for (const std::size_t link : flows[i]->links) room[link] -= raise;
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (!growing[i]) continue;
      bool stop = rates[i] >= flows[i]->limit * (1.0 - kFull);
      for (const std::size_t link : flows[i]->links) {
        stop = stop || room[link] <= kFull * capacities[link];
      }
      if (!stop) continue;
      growing[i] = false;
      --left;
      for (const std::size_t link : flows[i]->links) --growing_over[link];
    }
  }
  return rates;
}

std::vector<double> reference_finish_times(std::vector<double> capacities,
                                           const std::vector<ReferenceFlow>& flows,
                                           const std::vector<CapacityChange>& changes) {
  std::vector<double> finish(flows.size(), kNever);
  std::vector<double> remaining(flows.size());
  std::vector<std::size_t> active;
  std::size_t next_flow = 0;
  std::size_t next_change = 0;
  double now = 0.0;
  while (next_flow < flows.size() || !active.empty()) {
    std::vector<const ReferenceFlow*> sharing;
    for (const std::size_t i : active) sharing.push_back(&flows[i]);
    const std::vector<double> rates = reference_rates(capacities, sharing);
    double next = next_flow < flows.size() ? flows[next_flow].arrival : kNever;
    if (next_change < changes.size()) next = std::min(next, changes[next_change].time);
    for (std::size_t k = 0; k < active.size(); ++k) {
      next = std::min(next, now + remaining[active[k]] / rates[k]);
    }
    std::vector<std::size_t> still;
    for (std::size_t k = 0; k < active.size(); ++k) {
      const std::size_t i = active[k];
      if (now + remaining[i] / rates[k] <= next * (1.0 + 1e-14)) {
        finish[i] = next;
      } else {
        remaining[i] -= rates[k] * (next - now);
        still.push_back(i);
      }
    }
    active = still;
    now = next;
    for (; next_flow < flows.size() && flows[next_flow].arrival <= now; ++next_flow) {
      remaining[next_flow] = flows[next_flow].size;
      active.push_back(next_flow);
    }
    for (; next_change < changes.size() && changes[next_change].time <= now; ++next_change) {
      capacities[changes[next_change].link] = changes[next_change].capacity;
    }
  }
  return finish;
}

}  // namespace hoccl::sim
