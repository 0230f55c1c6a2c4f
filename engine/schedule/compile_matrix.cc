#include "engine/schedule/compile_matrix.h"

#include "engine/schedule/matrix_demand.h"
#include "engine/schedule/plan_builder.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

Plan compile_matrix_for_node(const TrafficMatrix& matrix, bool in_place, const Topology& topology,
                             const CompileOptions& options, NodeId node, StageMemo* memo) {
  const RailMap rails(topology);
  if (matrix.rows() != matrix.cols() || matrix.rows() != topology.rank_count() ||
      options.forwarding != Forwarding::kBalanced || !rails.nodes_are_ports()) {
    // Also where it is to be refused, so that the text is the same.
    return compile_for_node(all_to_all_v(matrix, in_place), topology, options, node);
  }
  require_in_range(options);
  MatrixDemand demand(matrix, in_place, topology, node);
  require_chunks(demand.largest_entry(), options.chunk_size);
  Plan plan;
  plan.pattern = kAllToAllVName;
  plan.topology = topology.name();
  plan.rank_count = topology.rank_count();
  plan.message_size = demand.largest_buffer();
  plan.chunk_size = options.chunk_size;
  plan.order = options.order;
  build_balanced(plan, demand, {}, rails, options, node, memo);
  return plan;
}

}  // namespace hoccl::engine
