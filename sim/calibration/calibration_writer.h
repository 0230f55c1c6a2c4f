#pragma once

#include <ostream>
#include <string_view>

#include "sim/calibration/calibration.h"

namespace hoccl::sim {

/// Writes a file that `load_calibration` reads as the same calibration: every constant with its
/// value, source and kind. `remark`: one line for the file's head.
void write_calibration(std::ostream& stream, const Calibration& calibration,
                       std::string_view remark);

}  // namespace hoccl::sim
