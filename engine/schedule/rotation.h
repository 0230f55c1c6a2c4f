#pragma once

#include "engine/schedule/decomposition.h"

namespace hoccl::engine {

/// Stage d: every port sends to the d-th next one, whatever the sizes (NCCL's order of send and
/// receive pairs, SpreadOut). A stage is as long as its largest entry, so skew leaves ports idle.
Decomposition rotation_stages(const PortMatrix& matrix);

}  // namespace hoccl::engine
