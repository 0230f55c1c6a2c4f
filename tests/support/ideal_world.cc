#include "tests/support/ideal_world.h"

#include <cmath>
#include <utility>

#include "tests/support/ideal_port.h"
#include "tests/support/ideal_streams.h"

namespace hoccl::engine {

IdealWorld::IdealWorld(Topology machine, IdealOptions settings)
    : topology(std::move(machine)),
      options(std::move(settings)),
      random(options.seed),
      events(adversarial() ? &random : nullptr),
      memory(topology, options) {}

IdealWorld::~IdealWorld() = default;

Seconds IdealWorld::duration(Seconds closed_form) {
  if (!adversarial()) return closed_form;
  return options.shortest_delay * std::pow(1000.0, random.uniform());
}

}  // namespace hoccl::engine
