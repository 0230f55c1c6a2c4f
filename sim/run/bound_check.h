#pragma once

#include <string_view>

#include "engine/base/units.h"
#include "engine/schedule/bounds.h"

namespace hoccl::sim {

/// Aborts, naming the port, when `time` is below the bound by more than rounding: such a model is
/// wrong, and none of its numbers may be shown. `kind` says at which rates the bound was computed.
void check_bound(std::string_view kind, const engine::Bound& bound, engine::Bytes size,
                 engine::Seconds time);

}  // namespace hoccl::sim
