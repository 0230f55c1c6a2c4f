#include "tests/engine/schedule/plan_replay.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace hoccl::engine {
namespace {

/// Where bytes came from: an offset in a rank's send buffer.
struct Origin {
  Rank rank;
  std::int64_t offset = 0;

  bool operator==(const Origin&) const = default;
};

/// A receive buffer: what lies where.
class Buffer {
 public:
  struct Part {
    std::int64_t begin = 0;
    std::int64_t size = 0;
    Origin origin;
  };

  /// False when something is there already.
  bool write(const Part& part) {
    const auto next = parts_.lower_bound(part.begin);
    if (next != parts_.end() && next->first < part.begin + part.size) return false;
    if (next != parts_.begin()) {
      const auto& [begin, before] = *std::prev(next);
      if (begin + before.size > part.begin) return false;
    }
    parts_.emplace(part.begin, part);
    return true;
  }

  /// What is there from `begin` on; nothing where a byte is missing.
  [[nodiscard]] std::optional<std::vector<Part>> read(std::int64_t begin, std::int64_t size) const {
    std::vector<Part> result;
    std::int64_t at = begin;
    while (at < begin + size) {
      auto found = parts_.upper_bound(at);
      if (found == parts_.begin()) return std::nullopt;
      const Part& part = (--found)->second;
      if (part.begin + part.size <= at) return std::nullopt;
      const std::int64_t end = std::min(part.begin + part.size, begin + size);
      result.push_back({at, end - at, {part.origin.rank, part.origin.offset + at - part.begin}});
      at = end;
    }
    return result;
  }

  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t sum = 0;
    for (const auto& [begin, part] : parts_) sum += part.size;
    return sum;
  }

 private:
  std::map<std::int64_t, Part> parts_;
};

class Replay {
 public:
  Replay(const Plan& plan, const Pattern& pattern, const Topology& topology)
      : plan_(plan),
        pattern_(pattern),
        topology_(topology),
        received_(static_cast<std::size_t>(plan.rank_count)) {}

  std::string run() {
    FlowId before = FlowId::none();
    for (const Transfer& transfer : plan_.transfers) {
      if (transfer.id <= before) return fmt::format("id {} after {}", transfer.id, before);
      before = transfer.id;
      std::string fault = check_path(transfer);
      if (fault.empty()) fault = carry(transfer);
      if (!fault.empty()) return fmt::format("transfer {}: {}", transfer.id, fault);
      by_id_.emplace(transfer.id, &transfer);
    }
    return compare();
  }

 private:
  [[nodiscard]] int physical(Rank rank) const {
    return topology_.gpu(topology_.gpu_of(rank)).physical;
  }
  [[nodiscard]] int physical(PlaceId place) const {
    return topology_.is_host(place) ? -1 : topology_.gpu(topology_.gpu_of(place)).physical;
  }

  [[nodiscard]] std::string check_receivers(NicId nic, Rank target,
                                            const std::vector<Rank>& more) const {
    std::vector<Rank> all = {target};
    all.insert(all.end(), more.begin(), more.end());
    for (const Rank rank : all) {
      if (topology_.node_of(rank) != topology_.nic(nic).node) return "receives on another node";
      if (physical(rank) == physical(topology_.place_of(nic))) return "pulls within a GPU";
    }
    return "";
  }

  [[nodiscard]] std::string check_registered(const Transfer& transfer) const {
    if (topology_.wire() == WireKind::kMap) return "registered over a map wire";
    if (topology_.node_of(transfer.source) == topology_.node_of(transfer.target)) {
      return "registered inside a node";
    }
    const auto is_own = [&](NicId nic, Rank rank) {
      return std::ranges::count(topology_.nics_of(topology_.gpu_of(rank)), nic) == 1;
    };
    if (!is_own(transfer.send_nic, transfer.source)) return "sends through another GPU's NIC";
    if (!is_own(transfer.receive_nic, transfer.target)) return "receives through another GPU's NIC";
    if (!transfer.more_targets.empty() || !transfer.branches.empty()) return "registered to many";
    return "";
  }

  [[nodiscard]] std::string check_path(const Transfer& transfer) const {
    const NodeId node = topology_.node_of(transfer.source);
    switch (transfer.route) {
      case Route::kDirect:
        if (topology_.node_of(transfer.target) != node) return "direct to another node";
        if (physical(transfer.source) == physical(transfer.target)) return "copies within a GPU";
        if (!transfer.more_targets.empty() || !transfer.branches.empty()) return "direct to many";
        return "";
      case Route::kRelayed:
        if (topology_.node_of(transfer.via) != node) return "relayed on another node";
        if (physical(transfer.via) == physical(transfer.source)) return "relayed within a GPU";
        if (physical(transfer.via) == physical(transfer.target)) return "relayed within a GPU";
        return "";
      case Route::kRegistered:
        return check_registered(transfer);
      case Route::kStaged:
        break;
    }
    if (topology_.nic(transfer.send_nic).node != node) return "sends on another node";
    if (physical(transfer.source) == physical(topology_.place_of(transfer.send_nic))) {
      return "stages within a GPU";
    }
    if (transfer.branches.size() > kMaxBranches) return "too many branches";
    std::string fault =
        check_receivers(transfer.receive_nic, transfer.target, transfer.more_targets);
    std::vector<NodeId> nodes = {node, topology_.node_of(transfer.target)};
    if (nodes[0] == nodes[1]) return "staged inside a node";
    for (const Branch& branch : transfer.branches) {
      if (fault.empty()) {
        fault = check_receivers(branch.receive_nic, branch.target, branch.more_targets);
      }
      const NodeId to = topology_.node_of(branch.target);
      if (std::ranges::find(nodes, to) != nodes.end()) return "branches to a node twice";
      nodes.push_back(to);
    }
    return fault;
  }

  std::string carry(const Transfer& transfer) {
    std::vector<Buffer::Part> parts;
    const std::int64_t source = transfer.source_offset.count();
    const std::int64_t size = transfer.size.count();
    if (size < 1) return "empty";
    if (transfer.after.is_none()) {
      parts.push_back({source, size, {transfer.source, source}});
    } else {
      const auto found = by_id_.find(transfer.after);
      if (found == by_id_.end()) return "after an unknown transfer";
      if (!delivers_to(*found->second, transfer.source)) return "after one to another rank";
      if (found->second->size != transfer.size) return "after one of another size";
      if (found->second->target_offset != transfer.source_offset) return "after other bytes";
      auto there = received_[transfer.source.index()].read(source, size);
      if (!there) return "bytes not there";
      parts = std::move(*there);
    }
    for (const Rank target : targets_of(transfer)) {
      for (Buffer::Part part : parts) {
        part.begin += transfer.target_offset.count() - source;
        if (!received_[target.index()].write(part)) {
          return fmt::format("writes bytes of rank {} again", target);
        }
      }
    }
    return "";
  }

  [[nodiscard]] std::string compare() const {
    std::vector<std::int64_t> wanted(received_.size(), 0);
    for (const Flow& flow : pattern_.flows) {
      for (const Rank target : targets_of(flow)) {
        wanted[target.index()] += flow.size.count();
        const auto parts =
            received_[target.index()].read(flow.target_offset.count(), flow.size.count());
        if (!parts) return fmt::format("rank {} misses bytes of rank {}", target, flow.source);
        for (const Buffer::Part& part : *parts) {
          const std::int64_t offset =
              flow.source_offset.count() + part.begin - flow.target_offset.count();
          if (part.origin == Origin{flow.source, offset}) continue;
          return fmt::format("rank {} has wrong bytes of rank {}", target, flow.source);
        }
      }
    }
    for (std::size_t i = 0; i < received_.size(); ++i) {
      if (received_[i].bytes() != wanted[i]) return fmt::format("rank {} has too much", i);
    }
    return "";
  }

  const Plan& plan_;
  const Pattern& pattern_;
  const Topology& topology_;
  std::vector<Buffer> received_;
  std::map<FlowId, const Transfer*> by_id_;
};

}  // namespace

std::string replay(const Plan& plan, const Pattern& pattern, const Topology& topology) {
  return Replay(plan, pattern, topology).run();
}

std::string contention(const Plan& plan) {
  if (plan.order == Order::kLocal) return "";
  std::map<std::pair<NicId, std::int32_t>, NicId> receiver;
  std::map<std::pair<NicId, std::int32_t>, NicId> sender;
  std::string fault;
  const auto leg = [&](NicId send, NicId receive, std::int32_t stage) {
    if (receiver.try_emplace({send, stage}, receive).first->second != receive) {
      fault = fmt::format("NIC {} sends to two in stage {}", send, stage);
    }
    if (sender.try_emplace({receive, stage}, send).first->second != send) {
      fault = fmt::format("NIC {} receives from two in stage {}", receive, stage);
    }
  };
  const auto legs = [&](NicId send, NicId receive, std::int32_t stage, std::int32_t list) {
    if (list < 0) return leg(send, receive, stage);
    for (const StageMark& mark : plan.stage_lists[static_cast<std::size_t>(list)].marks) {
      leg(send, receive, mark.stage);
    }
  };
  for (const Transfer& transfer : plan.transfers) {
    if (!crosses_wire(transfer)) continue;
    legs(transfer.send_nic, transfer.receive_nic, transfer.stage, transfer.stage_list);
    for (const Branch& branch : transfer.branches) {
      legs(transfer.send_nic, branch.receive_nic, branch.stage, branch.stage_list);
    }
  }
  return fault;
}

}  // namespace hoccl::engine
