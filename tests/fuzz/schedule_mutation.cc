#include "tests/fuzz/schedule_mutation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace hoccl::engine {
namespace {

/// How often a case is spoiled.
constexpr int kTries = 6;

/// A plan with the transfer that is to be spoiled.
struct Victim {
  const ScheduleCase& schedule_case;
  Plan& plan;
  std::size_t index;
  Random& random;

  [[nodiscard]] Transfer& transfer() const { return plan.transfers[index]; }
  [[nodiscard]] const Topology& topology() const { return schedule_case.topology; }
};

bool drop(const Victim& victim) {
  victim.plan.transfers.erase(victim.plan.transfers.begin() +
                              static_cast<std::ptrdiff_t>(victim.index));
  return true;
}

bool deliver_twice(const Victim& victim) {
  Transfer again = victim.transfer();
  again.id = FlowId(victim.plan.transfers.back().id.value() + 1);
  victim.plan.transfers.push_back(std::move(again));
  return true;
}

bool drop_last_byte(const Victim& victim) {
  victim.transfer().size -= Bytes(1);
  return victim.transfer().size > Bytes(0);
}

bool send_elsewhere(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  const auto local = victim.topology().ranks_of(victim.topology().node_of(transfer.target));
  const Rank other =
      local[static_cast<std::size_t>(victim.random.between(0, std::ssize(local) - 1))];
  if (delivers_to(transfer, other) || other == transfer.source) return false;
  transfer.target = other;
  return true;
}

bool swap_offsets(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  for (Transfer& other : victim.plan.transfers) {
    if (other.source != transfer.source || other.size != transfer.size ||
        other.after.is_none() != transfer.after.is_none() ||
        other.source_offset == transfer.source_offset) {
      continue;
    }
    std::swap(other.source_offset, transfer.source_offset);
    return true;
  }
  return false;
}

bool shift_target(const Victim& victim) {
  victim.transfer().target_offset += Bytes(1);
  return true;
}

bool copy_within_gpu(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  const Topology& topology = victim.topology();
  if (transfer.route == Route::kDirect) {
    transfer.target = transfer.source;
    return true;
  }
  const GpuId own = topology.gpu_of(transfer.source);
  if (transfer.route == Route::kRelayed) {
    transfer.via = topology.gpu_place(own);
    return true;
  }
  if (transfer.route == Route::kRegistered) return false;
  const auto nics = topology.nics_of(own);
  if (nics.empty() || topology.staging() == StagingKind::kHost) return false;
  transfer.send_nic = nics.front();
  return true;
}

bool use_nic_twice(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  if (!crosses_wire(transfer) || victim.plan.order == Order::kLocal) return false;
  for (const Transfer& other : victim.plan.transfers) {
    if (!crosses_wire(other) || other.stage != transfer.stage ||
        other.stage_list != transfer.stage_list || other.send_nic == transfer.send_nic ||
        other.receive_nic == transfer.receive_nic) {
      continue;
    }
    transfer.receive_nic = other.receive_nic;
    return true;
  }
  return false;
}

bool come_after_another(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  if (transfer.after.is_none()) return false;
  const Transfer& other = victim.plan.transfers[static_cast<std::size_t>(
      victim.random.between(0, std::ssize(victim.plan.transfers) - 1))];
  if (delivers_to(other, transfer.source)) return false;
  transfer.after = other.id;
  return true;
}

bool come_after_nothing(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  return !std::exchange(transfer.after, FlowId::none()).is_none();
}

bool repeat_id(const Victim& victim) {
  if (victim.index == 0) return false;
  victim.transfer().id = victim.plan.transfers[victim.index - 1].id;
  return true;
}

bool drop_branch(const Victim& victim) {
  if (victim.transfer().branches.empty()) return false;
  victim.transfer().branches.pop_back();
  return true;
}

bool drop_further_target(const Victim& victim) {
  if (victim.transfer().more_targets.empty()) return false;
  victim.transfer().more_targets.pop_back();
  return true;
}

bool cut_stage_list(const Victim& victim) {
  const std::int32_t list = victim.transfer().stage_list;
  if (list < 0) return false;
  victim.plan.stage_lists[static_cast<std::size_t>(list)].marks.pop_back();
  return true;
}

bool swap_nics(const Victim& victim) {
  if (!crosses_wire(victim.transfer())) return false;
  std::swap(victim.transfer().send_nic, victim.transfer().receive_nic);
  return true;
}

bool use_another_gpus_nic(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  if (transfer.route != Route::kRegistered) return false;
  const auto nics = victim.topology().nics();
  const NicId other(victim.random.between(0, std::ssize(nics) - 1));
  if (nics[other.index()].gpu == victim.topology().gpu_of(transfer.target)) return false;
  transfer.receive_nic = other;
  return true;
}

bool register_what_is_direct(const Victim& victim) {
  Transfer& transfer = victim.transfer();
  if (transfer.route != Route::kDirect) return false;
  const auto send = victim.topology().nics_of(victim.topology().gpu_of(transfer.source));
  const auto receive = victim.topology().nics_of(victim.topology().gpu_of(transfer.target));
  if (send.empty() || receive.empty()) return false;
  transfer.route = Route::kRegistered;
  transfer.send_nic = send.front();
  transfer.receive_nic = receive.front();
  return true;
}

struct Mutation {
  std::string_view name;
  bool (*apply)(const Victim& victim);
};

constexpr std::array kMutations = {
    Mutation{"dropped", drop},
    Mutation{"delivered twice", deliver_twice},
    Mutation{"without its last byte", drop_last_byte},
    Mutation{"sent elsewhere", send_elsewhere},
    Mutation{"offsets swapped", swap_offsets},
    Mutation{"one byte further on at the target", shift_target},
    Mutation{"copied within a GPU", copy_within_gpu},
    Mutation{"NIC twice in a stage", use_nic_twice},
    Mutation{"after another", come_after_another},
    Mutation{"after nothing", come_after_nothing},
    Mutation{"id repeated", repeat_id},
    Mutation{"branch dropped", drop_branch},
    Mutation{"further target dropped", drop_further_target},
    Mutation{"stage list cut", cut_stage_list},
    Mutation{"NICs swapped", swap_nics},
    Mutation{"registered over another GPU's NIC", use_another_gpus_nic},
    Mutation{"registered inside a node", register_what_is_direct},
};

bool names_something(const std::string& line) {
  return line.find('\n') == std::string::npos &&
         (line.starts_with("transfer ") || line.starts_with("plan: ") ||
          line.find("rank ") != std::string::npos);
}

/// Spoils a good plan of the case in one of many ways and says how; empty when this draw fits no
/// transfer of the plan.
std::string spoil(Random& random, const ScheduleCase& schedule_case, Plan& plan) {
  const auto index = random.between(0, std::ssize(plan.transfers) - 1);
  const Mutation& mutation =
      kMutations[static_cast<std::size_t>(random.between(0, std::ssize(kMutations) - 1))];
  const FlowId id = plan.transfers[static_cast<std::size_t>(index)].id;
  const Victim victim{schedule_case, plan, static_cast<std::size_t>(index), random};
  if (!mutation.apply(victim)) return "";
  return fmt::format("transfer {} {}", id, mutation.name);
}

}  // namespace

std::string check_mutations(Random& random, const ScheduleCase& schedule_case, const Plan& plan,
                            int& applied) {
  if (plan.transfers.empty()) return "";
  for (int i = 0; i < kTries; ++i) {
    Plan spoiled = plan;
    const std::string how = spoil(random, schedule_case, spoiled);
    if (how.empty()) continue;
    ++applied;
    const std::vector<std::string> violations = find_violations(
        spoiled, &schedule_case.pattern, schedule_case.topology, schedule_case.slots());
    if (violations.empty()) return how + ": nothing found";
    for (const std::string& line : violations) {
      if (!names_something(line)) return fmt::format("{}: says only '{}'", how, line);
    }
  }
  return "";
}

}  // namespace hoccl::engine
