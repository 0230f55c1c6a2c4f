#pragma once

#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/channel.h"
#include "hw/bootstrap/deadline.h"

namespace hoccl::hw {

/// Finds rank 0 among whoever listens on the launch's ports, and is let in. Throws BootstrapError
/// when rank 0 refuses, or has not appeared or let this rank in at the deadline.
Channel visit_rank_0(const Launch& launch, const BootstrapOptions& options,
                     const Deadline& deadline);

}  // namespace hoccl::hw
