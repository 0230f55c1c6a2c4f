#pragma once

#include <span>
#include <string_view>

namespace hoccl::sim {

/// A calibration file of this folder, compiled in so that the program needs no installed data.
struct CalibrationPreset {
  std::string_view name;
  std::string_view text;
};

std::span<const CalibrationPreset> calibration_presets();

}  // namespace hoccl::sim
