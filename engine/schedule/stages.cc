#include "engine/schedule/stages.h"

#include <algorithm>

namespace hoccl::engine {
namespace {

template <class PortOf>
void assign(Plan& plan, const StageTable& table, PortOf port_of) {
  std::vector<bool> wanted(table.list_count(), false);
  for (Transfer& transfer : plan.transfers) {
    if (transfer.route != Route::kStaged) continue;
    const int source = port_of(transfer.send_nic);
    const auto write = [&](auto& leg) {
      const StageTable::Entry entry = table.at(source, port_of(leg.receive_nic));
      leg.stage = entry.stage;
      leg.stage_list = entry.stage_list;
      if (entry.stage_list >= 0) wanted[static_cast<std::size_t>(entry.stage_list)] = true;
    };
    write(transfer);
    for (Branch& branch : transfer.branches) write(branch);
  }
  plan.stage_lists = table.lists(wanted);
}

}  // namespace

std::shared_ptr<const StageTable> node_stages(const PortMatrix& bytes, int rails,
                                              const CompileOptions& options, StageMemo* memo) {
  if (options.order == Order::kLocal) return std::make_shared<const StageTable>();
  // Also where a node sends less than a chunk per rail it takes a turn.
  const std::int64_t unit = options.chunk_size.count() * rails;
  PortMatrix chunks =
      bytes.unaryExpr([unit](std::int64_t size) { return (size + unit - 1) / unit; });
  chunks.diagonal().setZero();
  if (memo != nullptr) return memo->get(chunks, options.order, options.quantise);
  return std::make_shared<const StageTable>(chunks,
                                            decompose(chunks, options.order, options.quantise));
}

StageTable nic_stages(const std::vector<Transfer>& transfers, int nic_count,
                      const CompileOptions& options) {
  if (options.order == Order::kLocal) return {};
  PortMatrix chunks = PortMatrix::Zero(nic_count, nic_count);
  for (const Transfer& transfer : transfers) {
    if (transfer.route != Route::kStaged) continue;
    const std::int64_t count = chunks_of(transfer, options.chunk_size);
    chunks(transfer.send_nic.value(), transfer.receive_nic.value()) += count;
    for (const Branch& branch : transfer.branches) {
      chunks(transfer.send_nic.value(), branch.receive_nic.value()) += count;
    }
  }
  return StageTable(chunks, decompose(chunks, options.order, options.quantise));
}

void assign_node_stages(Plan& plan, const StageTable& table, const Topology& topology) {
  const auto nics = topology.nics();
  assign(plan, table, [nics](NicId nic) { return nics[nic.index()].node.value(); });
}

void assign_nic_stages(Plan& plan, const StageTable& table) {
  assign(plan, table, [](NicId nic) { return nic.value(); });
}

}  // namespace hoccl::engine
