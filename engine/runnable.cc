#include "engine/runnable.h"

namespace hoccl::engine {

void require_runnable(const Traffic& traffic, Bytes size, const Topology& topology,
                      const CompileOptions& options, const SlotSupply& slots) {
  const Pattern pattern = pattern_of(traffic, size, topology.rank_count());
  if (topology.rank_count() > kMostVerifiedRanks) {
    static_cast<void>(compile_for_node(pattern, topology, options, NodeId(0)));
    return;
  }
  verify(compile(pattern, topology, options), &pattern, topology, slots);
}

}  // namespace hoccl::engine
