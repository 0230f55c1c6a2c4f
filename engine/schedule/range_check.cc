#include "engine/schedule/range_check.h"

#include <string_view>
#include <utility>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {
namespace {

class RangeCheck {
 public:
  RangeCheck(const Plan& plan, const Topology& topology, Violations& violations)
      : plan_(plan), topology_(topology), violations_(violations) {}

  void check() {
    check_head();
    for (std::size_t list = 0; list < plan_.stage_lists.size(); ++list) check_stage_list(list);
    check_ids();
    for (const Transfer& transfer : plan_.transfers) {
      check_values(transfer);
      check_nics(transfer);
      check_route(transfer);
      check_targets(transfer);
    }
  }

 private:
  void check_head();
  void check_stage_list(std::size_t index);
  void check_ids();
  void check_values(const Transfer& transfer);
  void check_nics(const Transfer& transfer);
  void check_route(const Transfer& transfer);
  void check_stage(const Transfer& transfer, std::int32_t stage, std::int32_t stage_list);
  void check_targets(const Transfer& transfer);
  void check_more_targets(const Transfer& transfer, Rank target, const std::vector<Rank>& further);

  [[nodiscard]] bool is_rank(Rank rank) const {
    return rank.value() >= 0 && rank.value() < topology_.rank_count();
  }
  [[nodiscard]] bool is_nic(NicId nic) const {
    return nic.value() >= 0 && nic.value() < topology_.nic_count();
  }

  const Plan& plan_;
  const Topology& topology_;
  Violations& violations_;
};

void RangeCheck::check_head() {
  if (plan_.rank_count != topology_.rank_count()) {
    violations_.add_plan("has {} ranks: expected {}, as on topology '{}'", plan_.rank_count,
                         topology_.rank_count(), topology_.name());
  }
  if (plan_.message_size < Bytes(0) || plan_.message_size > kMaxMessageSize) {
    violations_.add_plan("message of {} bytes: expected 0 to {}", plan_.message_size.count(),
                         kMaxMessageSize.count());
  }
  if (plan_.chunk_size < Bytes(1) || plan_.chunk_size > kMaxChunkSize) {
    violations_.add_plan("chunk of {} bytes: expected 1 to {}", plan_.chunk_size.count(),
                         kMaxChunkSize.count());
  }
}

void RangeCheck::check_stage_list(std::size_t index) {
  const StageList& list = plan_.stage_lists[index];
  if (list.total < 1 || list.total > kMaxStageListTotal) {
    violations_.add_plan("stage list {} has a total of {}: expected 1 to {}", index, list.total,
                         kMaxStageListTotal);
  }
  StageMark before{.stage = -1, .end = 0};
  for (const StageMark& mark : list.marks) {
    if (mark.stage <= before.stage || mark.stage > kMaxStage || mark.end <= before.end) {
      violations_.add_plan(
          "stage list {} goes on to stage {} at {}: expected both to ascend, stages up to {}",
          index, mark.stage, mark.end, kMaxStage);
      return;
    }
    before = mark;
  }
  if (before.end != list.total) {
    violations_.add_plan("stage list {} ends at {}: expected its total, {}", index, before.end,
                         list.total);
  }
}

void RangeCheck::check_ids() {
  FlowId before = FlowId::none();
  for (const Transfer& transfer : plan_.transfers) {
    if (transfer.id <= before) {
      violations_.add(transfer, "comes behind transfer {}: expected ascending ids from 0", before);
    }
    before = transfer.id;
  }
}

void RangeCheck::check_values(const Transfer& transfer) {
  for (const auto& [end, rank] :
       {std::pair("source", transfer.source), std::pair("target", transfer.target)}) {
    if (!is_rank(rank)) {
      violations_.add(transfer, "{} rank {}: expected 0 to {}", end, rank,
                      topology_.rank_count() - 1);
    }
  }
  for (const auto& [end, offset] :
       {std::pair("source", transfer.source_offset), std::pair("target", transfer.target_offset)}) {
    if (offset < Bytes(0) || offset > kMaxMessageSize) {
      violations_.add(transfer, "{} offset {}: expected 0 to {}", end, offset.count(),
                      kMaxMessageSize.count());
    }
  }
  if (!transfer.after.is_none()) {
    const auto found = std::ranges::lower_bound(plan_.transfers, transfer.after, {}, &Transfer::id);
    if (transfer.after >= transfer.id || found == plan_.transfers.end() ||
        found->id != transfer.after) {
      violations_.add(transfer, "comes after transfer {}: expected an earlier one of the plan",
                      transfer.after);
    }
  }
  if (transfer.size < Bytes(1) || transfer.size > kMaxMessageSize) {
    violations_.add(transfer, "size {}: expected 1 to {}", transfer.size.count(),
                    kMaxMessageSize.count());
    return;
  }
  if (plan_.chunk_size >= Bytes(1) &&
      chunks_of(transfer, plan_.chunk_size) > kMaxChunksPerTransfer) {
    violations_.add(transfer, "{} chunks: expected at most {}",
                    chunks_of(transfer, plan_.chunk_size), kMaxChunksPerTransfer);
  }
}

void RangeCheck::check_nics(const Transfer& transfer) {
  for (const auto& [use, nic] :
       {std::pair("send", transfer.send_nic), std::pair("receive", transfer.receive_nic)}) {
    switch (transfer.route) {
      case Route::kDirect:
      case Route::kRelayed:
        if (!nic.is_none()) {
          violations_.add(transfer, "{}, with {} NIC {}: expected none",
                          transfer.route == Route::kDirect ? "direct" : "relayed", use, nic);
        }
        break;
      case Route::kStaged:
      case Route::kRegistered:
        if (!is_nic(nic)) {
          violations_.add(transfer, "{} NIC {}: expected 0 to {}", use, nic,
                          topology_.nic_count() - 1);
        }
        break;
    }
  }
}

void RangeCheck::check_route(const Transfer& transfer) {
  const bool relayed = transfer.route == Route::kRelayed;
  if (!relayed && !transfer.via.is_none()) {
    violations_.add(transfer, "is not relayed, but goes via place {}: expected none", transfer.via);
  }
  if (relayed && (transfer.via.value() < 0 || transfer.via.value() >= topology_.place_count())) {
    violations_.add(transfer, "relayed via place {}: expected 0 to {}", transfer.via,
                    topology_.place_count() - 1);
  }
  const bool crosses = crosses_wire(transfer);
  if (crosses) check_stage(transfer, transfer.stage, transfer.stage_list);
  if (transfer.route == Route::kStaged) return;
  const std::string_view route = crosses ? "registered" : relayed ? "relayed" : "direct";
  if (!crosses && (transfer.stage != 0 || transfer.stage_list != -1)) {
    violations_.add(transfer, "{}, with stage {} and stage list {}: expected 0 and -1", route,
                    transfer.stage, transfer.stage_list);
  }
  if (!transfer.more_targets.empty()) {
    violations_.add(transfer, "{}, with {} more target(s): expected none", route,
                    transfer.more_targets.size());
  }
  if (!transfer.branches.empty()) {
    violations_.add(transfer, "{}, with {} branch(es): expected none", route,
                    transfer.branches.size());
  }
}

void RangeCheck::check_stage(const Transfer& transfer, std::int32_t stage,
                             std::int32_t stage_list) {
  if (stage < 0 || stage > kMaxStage) {
    violations_.add(transfer, "stage {}: expected 0 to {}", stage, kMaxStage);
  }
  const auto lists = static_cast<std::int64_t>(plan_.stage_lists.size());
  if (stage_list < -1 || stage_list >= lists) {
    violations_.add(transfer, "stage list {}: expected -1 to {}", stage_list, lists - 1);
  } else if (stage_list >= 0 && stage != 0) {
    // A file holds only one of them.
    violations_.add(transfer, "stage {} beside stage list {}: expected 0", stage, stage_list);
  }
}

void RangeCheck::check_targets(const Transfer& transfer) {
  if (transfer.route != Route::kStaged) return;
  check_more_targets(transfer, transfer.target, transfer.more_targets);
  if (transfer.branches.size() > kMaxBranches) {
    violations_.add(transfer, "{} branches: expected at most {}", transfer.branches.size(),
                    kMaxBranches);
  }
  for (const Branch& branch : transfer.branches) {
    if (!is_rank(branch.target)) {
      violations_.add(transfer, "branch to rank {}: expected 0 to {}", branch.target,
                      topology_.rank_count() - 1);
    }
    if (!is_nic(branch.receive_nic)) {
      violations_.add(transfer, "branch to NIC {}: expected 0 to {}", branch.receive_nic,
                      topology_.nic_count() - 1);
    }
    check_stage(transfer, branch.stage, branch.stage_list);
    check_more_targets(transfer, branch.target, branch.more_targets);
  }
}

void RangeCheck::check_more_targets(const Transfer& transfer, Rank target,
                                    const std::vector<Rank>& further) {
  Rank before = Rank::none();
  for (const Rank rank : further) {
    if (!is_rank(rank)) {
      violations_.add(transfer, "further target rank {}: expected 0 to {}", rank,
                      topology_.rank_count() - 1);
    } else if (rank <= before) {
      violations_.add(transfer,
                      "further target rank {} after rank {}: expected ascending ranks, each once",
                      rank, before);
    } else if (rank == target) {
      violations_.add(transfer, "further target rank {}: expected another rank than the target",
                      rank);
    } else if (rank == transfer.source) {
      violations_.add(transfer, "further target rank {}: expected another rank than the source",
                      rank);
    }
    before = rank;
  }
}

}  // namespace

void check_ranges(const Plan& plan, const Topology& topology, Violations& violations) {
  RangeCheck(plan, topology, violations).check();
}

}  // namespace hoccl::engine
