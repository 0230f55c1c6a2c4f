#include "engine/schedule/compile_request.h"

#include "engine/pattern/alltoall.h"
#include "engine/schedule/compile_matrix.h"

namespace hoccl::engine {

Plan compile_request_for_node(const PatternRequest& request, const Topology& topology,
                              const CompileOptions& options, NodeId node, StageMemo* memo) {
  const int ranks = topology.rank_count();
  // A matrix may not have a rank receive more than the largest message, which rounding may add to.
  const bool is_matrix = request.name == kAllToAllName && request.group.empty() &&
                         request.size <= kMaxMessageSize - Bytes(ranks);
  if (!is_matrix || options.forwarding != Forwarding::kBalanced) {
    return compile_for_node(make_pattern(request, ranks), topology, options, node);
  }
  Plan plan = compile_matrix_for_node(all_to_all_matrix(ranks, request.size), request.in_place,
                                      topology, options, node, memo);
  plan.pattern = kAllToAllName;
  plan.message_size = request.size;
  for (Transfer& transfer : plan.transfers) transfer.flow_class = request.flow_class;
  return plan;
}

}  // namespace hoccl::engine
