#pragma once

#include <ostream>

#include "engine/base/units.h"
#include "experiments/contention/gemm.h"

namespace hoccl::contention {

/// Multiplies without a pause for `duration`, for traffic that something else makes. A row per
/// product to `csv` (may be null), a line per second and a last one over all to the standard
/// output.
void loop_products(Gemm& gemm, engine::Seconds duration, std::ostream* csv);

}  // namespace hoccl::contention
