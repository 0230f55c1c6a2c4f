#include "engine/schedule/stages.h"

#include <algorithm>

namespace hoccl::engine {
namespace {

/// Lists are numbered as the plan has them: a part of it has fewer.
template <class PortOf>
void assign(Plan& plan, const StageTable& table, const std::vector<FlowId>& late, PortOf port_of) {
  std::vector<bool> wanted(table.list_count(), false);
  for (Transfer& transfer : plan.transfers) {
    if (!crosses_wire(transfer)) continue;
    const int source = port_of(transfer.send_nic);
    const bool is_late = !late.empty() && std::ranges::binary_search(late, transfer.id);
    const auto write = [&](auto& leg) {
      const int target = port_of(leg.receive_nic);
      const StageTable::Entry entry =
          is_late ? table.late_at(source, target) : table.at(source, target);
      leg.stage = entry.stage;
      leg.stage_list = entry.stage_list;
      if (entry.stage_list >= 0) wanted[static_cast<std::size_t>(entry.stage_list)] = true;
    };
    write(transfer);
    for (Branch& branch : transfer.branches) write(branch);
  }
  plan.stage_lists = table.lists(wanted);
  std::vector<std::int32_t> numbers(wanted.size(), -1);
  std::int32_t next = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) numbers[i] = next++;
  }
  const auto renumber = [&](auto& leg) {
    if (leg.stage_list >= 0) leg.stage_list = numbers[static_cast<std::size_t>(leg.stage_list)];
  };
  for (Transfer& transfer : plan.transfers) {
    renumber(transfer);
    for (Branch& branch : transfer.branches) renumber(branch);
  }
}

/// Work between nodes in chunks per rail. Also where a node sends less than that it takes a turn.
PortMatrix node_chunks(const PortMatrix& bytes, int rails, const CompileOptions& options) {
  const std::int64_t unit = options.chunk_size.count() * rails;
  PortMatrix chunks =
      bytes.unaryExpr([unit](std::int64_t size) { return (size + unit - 1) / unit; });
  chunks.diagonal().setZero();
  return chunks;
}

StageTable table_of(const PortMatrix& chunks, const CompileOptions& options, std::int64_t rounds) {
  const Decomposition stages = decompose(chunks, options.order, options.quantise);
  const auto count = std::max<std::int64_t>(1, static_cast<std::int64_t>(stages.stage_count()));
  // One more may follow (StageTable::late_at).
  const std::int64_t most = std::max<std::int64_t>(1, (std::int64_t{kMaxStage} + 1) / count - 1);
  return StageTable(chunks, stages, static_cast<std::int32_t>(std::min(rounds, most)));
}

}  // namespace

std::shared_ptr<const StageTable> node_stages(const PortMatrix& bytes, int rails,
                                              const CompileOptions& options, StageMemo* memo) {
  if (options.order == Order::kLocal) return std::make_shared<const StageTable>();
  const PortMatrix chunks = node_chunks(bytes, rails, options);
  if (memo != nullptr) return memo->get(chunks, options.order, options.quantise);
  return std::make_shared<const StageTable>(table_of(chunks, options, 1));
}

StageTable node_stages_in_rounds(const PortMatrix& bytes, int rails, const CompileOptions& options,
                                 std::int64_t rounds) {
  if (options.order == Order::kLocal) return {};
  return table_of(node_chunks(bytes, rails, options), options, rounds);
}

StageTable nic_stages(const std::vector<Transfer>& transfers, int nic_count,
                      const CompileOptions& options, std::int64_t rounds) {
  if (options.order == Order::kLocal) return {};
  PortMatrix chunks = PortMatrix::Zero(nic_count, nic_count);
  for (const Transfer& transfer : transfers) {
    if (!crosses_wire(transfer)) continue;
    const std::int64_t count = chunks_of(transfer, options.chunk_size);
    chunks(transfer.send_nic.value(), transfer.receive_nic.value()) += count;
    for (const Branch& branch : transfer.branches) {
      chunks(transfer.send_nic.value(), branch.receive_nic.value()) += count;
    }
  }
  return table_of(chunks, options, rounds);
}

void assign_node_stages(Plan& plan, const StageTable& table, const Topology& topology,
                        const std::vector<FlowId>& late) {
  const auto nics = topology.nics();
  assign(plan, table, late, [nics](NicId nic) { return nics[nic.index()].node.value(); });
}

void assign_nic_stages(Plan& plan, const StageTable& table) {
  assign(plan, table, {}, [](NicId nic) { return nic.value(); });
}

std::int32_t first_stage(const Plan& plan, const Transfer& transfer) {
  if (transfer.stage_list < 0) return transfer.stage;
  return plan.stage_lists[static_cast<std::size_t>(transfer.stage_list)].marks.front().stage;
}

}  // namespace hoccl::engine
