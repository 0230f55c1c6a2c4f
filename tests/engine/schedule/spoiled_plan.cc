#include "tests/engine/schedule/spoiled_plan.h"

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/compile.h"

namespace hoccl::engine {

Striped::Striped()
    : topology(cluster(2, 8)),
      pattern(send_recv(16, Rank(0), Rank(8), Bytes(8 << 20))),
      plan(compile(
          pattern, topology,
          {.chunk_size = Bytes(1 << 20), .rails = 2, .forwarding = Forwarding::kSymmetric})) {}

std::vector<std::string> Striped::violations(const SlotSupply& slots) const {
  return find_violations(plan, &pattern, topology, slots);
}

std::vector<std::string> spoiled(const std::function<void(Plan&)>& spoil) {
  Striped striped;
  spoil(striped.plan);
  return striped.violations();
}

}  // namespace hoccl::engine
