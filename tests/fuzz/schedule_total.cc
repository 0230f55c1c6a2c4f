// The length of a plan's stages, from its transfers and stage lists alone.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/schedule/decomposition.h"
#include "engine/schedule/wire_legs.h"
#include "tests/fuzz/schedule_check.h"

namespace hoccl::engine {
namespace {

/// Of sums of a few hundred lengths of a few thousand.
constexpr double kRounding = 1e-6;

/// Stages are of nodes where every flow can use the rails alike: as many NICs on every node, of
/// which two end points never rule out all.
bool nodes_are_ports(const ScheduleCase& schedule_case) {
  const Topology& topology = schedule_case.topology;
  if (schedule_case.compile.forwarding != Forwarding::kBalanced) return false;
  for (int node = 0; node < topology.node_count(); ++node) {
    if (std::ssize(topology.nics_of(NodeId(node))) != topology.rail_count()) return false;
  }
  if (topology.staging() == StagingKind::kHost) return true;
  std::ptrdiff_t most = 0;
  for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) {
    most = std::max(most, std::ssize(topology.nics_of(GpuId(gpu))));
  }
  return 2 * most < topology.rail_count();
}

/// What a plan puts between two ports, and when.
struct Pair {
  std::int64_t bytes = 0;
  std::int64_t chunks = 0;
  std::int32_t stage = 0;
  std::int32_t stage_list = -1;
};
using Pairs = std::map<std::pair<int, int>, Pair>;

class Total {
 public:
  Total(const ScheduleCase& schedule_case, const Plan& plan)
      : case_(schedule_case), plan_(plan), of_nodes_(nodes_are_ports(schedule_case)) {}

  std::string check();

 private:
  [[nodiscard]] int port_of(NicId nic) const {
    return of_nodes_ ? case_.topology.nic(nic).node.value() : nic.value();
  }
  std::string add_legs();
  void add_pair(std::int64_t size, const Pair& pair);

  const ScheduleCase& case_;
  const Plan& plan_;
  bool of_nodes_;
  Pairs pairs_;
  std::map<std::int32_t, double> longest_;  // by stage
};

std::string Total::add_legs() {
  for (const Transfer& transfer : plan_.transfers) {
    if (!crosses_wire(transfer)) continue;
    for (std::size_t i = 0; i < leg_count(transfer); ++i) {
      const WireLeg leg = wire_leg(transfer, i);
      const auto [entry, is_new] = pairs_.try_emplace({port_of(leg.send), port_of(leg.receive)});
      Pair& pair = entry->second;
      if (is_new) {
        pair.stage = leg.stage;
        pair.stage_list = leg.stage_list;
      } else if (pair.stage_list != leg.stage_list ||
                 (leg.stage_list < 0 && pair.stage != leg.stage)) {
        return fmt::format("transfer {} has other stages than its pair of ports", transfer.id);
      }
      pair.bytes += transfer.size.count();
      pair.chunks += chunks_of(transfer, plan_.chunk_size);
    }
  }
  return "";
}

/// `size` in the unit of the stages. Lists may count in finer ones.
void Total::add_pair(std::int64_t size, const Pair& pair) {
  const auto add = [&](std::int32_t stage, double length) {
    longest_[stage] = std::max(longest_[stage], length);
  };
  if (pair.stage_list < 0) return add(pair.stage, static_cast<double>(size));
  const StageList& list = plan_.stage_lists.at(static_cast<std::size_t>(pair.stage_list));
  const double unit = static_cast<double>(size) / static_cast<double>(list.total);
  std::int64_t begin = 0;
  for (const StageMark& mark : list.marks) {
    add(mark.stage, static_cast<double>(mark.end - begin) * unit);
    begin = mark.end;
  }
}

std::string Total::check() {
  if (std::string wrong = add_legs(); !wrong.empty()) return wrong;
  const int ports = of_nodes_ ? case_.topology.node_count() : case_.topology.nic_count();
  const std::int64_t unit = plan_.chunk_size.count() * case_.topology.rail_count();
  PortMatrix matrix = PortMatrix::Zero(ports, ports);
  for (const auto& [ends, pair] : pairs_) {
    const std::int64_t size = of_nodes_ ? (pair.bytes + unit - 1) / unit : pair.chunks;
    matrix(ends.first, ends.second) = size;
    add_pair(size, pair);
  }
  const std::int64_t least = pairs_.empty() ? 0
                                            : std::max(matrix.rowwise().sum().maxCoeff(),
                                                       matrix.colwise().sum().maxCoeff());
  double total = 0.0;
  for (const auto& [stage, length] : longest_) total += length;
  const double most = static_cast<double>(least) * (1.0 + case_.compile.quantise);
  if (total > static_cast<double>(least) - kRounding && total < most + kRounding) return "";
  return fmt::format("stages of {} are {:.3f} long together, expected {} to {:.3f}",
                     of_nodes_ ? "nodes" : "NICs", total, least, most);
}

/// Whether a transfer between nodes passes on what another one brought, perhaps over a third.
bool crosses_again(const Plan& plan) {
  std::vector<bool> has_crossed;
  for (const Transfer& transfer : plan.transfers) {
    bool before = false;
    if (!transfer.after.is_none()) {
      const auto found =
          std::ranges::lower_bound(plan.transfers, transfer.after, {}, &Transfer::id);
      before = has_crossed[static_cast<std::size_t>(found - plan.transfers.begin())];
    }
    if (before && crosses_wire(transfer)) return true;
    has_crossed.push_back(before || crosses_wire(transfer));
  }
  return false;
}

}  // namespace

std::string check_total(const ScheduleCase& schedule_case, const Plan& plan) {
  const Order order = schedule_case.compile.order;
  if (order != Order::kCritical && order != Order::kBvn) return "";
  // The hops of rings and of chunks that cross the network again have stages one after the other.
  const bool rings = schedule_case.compile.algorithm == Algorithm::kRing &&
                     std::ranges::any_of(schedule_case.pattern.flows, [](const Flow& flow) {
                       return !flow.more_targets.empty() && flow.size > Bytes(0);
                     });
  if (rings || crosses_again(plan)) return "";
  return Total(schedule_case, plan).check();
}

}  // namespace hoccl::engine
