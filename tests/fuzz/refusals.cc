#include "tests/fuzz/refusals.h"

#include "engine/base/random.h"

namespace hoccl::engine {
namespace {

bool has_third_places(const Topology& topology) {
  if (topology.staging() == StagingKind::kHost) return true;
  for (int i = 0; i < topology.node_count(); ++i) {
    const NodeId node(i);
    if (topology.ranks_of(node).size() > 1 && topology.gpus_of(node).size() < 3) return false;
  }
  return true;
}

}  // namespace

void draw_refusals(std::uint64_t seed, const Topology& topology, IdealFaults& faults) {
  Random random(seed ^ 0x4ef5a1);
  if (!has_third_places(topology) || !random.chance(0.4)) return;
  const double at_export = random.chance(0.3) ? 1.0 : random.uniform();
  const double at_import = random.uniform();
  // Always the same answer for a buffer, in whatever order they are asked.
  const std::uint64_t salt = random.next();
  const auto refused = [salt](BufferHandle buffer, std::uint64_t importer, double probability) {
    const auto owner = static_cast<std::uint64_t>(buffer.owner.value());
    const auto id = static_cast<std::uint64_t>(buffer.id);
    return Random(salt + (importer << 48) + (owner << 32) + id).chance(probability);
  };
  faults.export_fails = [=](BufferHandle buffer) { return refused(buffer, 0, at_export); };
  faults.import_fails = [=](Rank importer, BufferHandle buffer) {
    // NICs of other nodes have no other way.
    return topology.node_of(importer) == topology.node_of(buffer.owner) &&
           refused(buffer, importer.index() + 1, at_import);
  };
}

}  // namespace hoccl::engine
