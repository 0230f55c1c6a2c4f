#pragma once

#include <memory>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/decomposition.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/stage_memo.h"
#include "engine/schedule/stage_table.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Stages of nodes: `bytes` from node to node, each pair's spread evenly over `rails` rails. `memo`
/// may be null.
std::shared_ptr<const StageTable> node_stages(const PortMatrix& bytes, int rails,
                                              const CompileOptions& options, StageMemo* memo);
/// The same in as many rounds as that allows, at most `rounds`.
StageTable node_stages_in_rounds(const PortMatrix& bytes, int rails, const CompileOptions& options,
                                 std::int64_t rounds);

/// Stages of NICs: what the transfers themselves put on each pair of NICs. Every transfer counts.
StageTable nic_stages(const std::vector<Transfer>& transfers, int nic_count,
                      const CompileOptions& options, std::int64_t rounds);

/// Writes the stages of nodes into what the plan sends between nodes, branches too, with the lists
/// that these need. `late`, ascending: transfers that wait for others between nodes.
void assign_node_stages(Plan& plan, const StageTable& table, const Topology& topology,
                        const std::vector<FlowId>& late);
/// The same of NICs, where no transfer is late.
void assign_nic_stages(Plan& plan, const StageTable& table);

/// The stage that a transfer is in first.
std::int32_t first_stage(const Plan& plan, const Transfer& transfer);

}  // namespace hoccl::engine
