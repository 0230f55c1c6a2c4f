#pragma once

namespace hoccl::sim {

/// Starts SimGrid's engine with every flag that influences results set explicitly, so that no
/// default of a SimGrid version does, and an empty root zone. Once per process; a second call is a
/// check failure.
void start_simgrid();

}  // namespace hoccl::sim
