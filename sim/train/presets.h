#pragma once

#include <span>
#include <string_view>

namespace hoccl::sim {

/// A file of `presets/`, compiled in so that the program needs no installed data.
struct TrainingPreset {
  std::string_view name;
  std::string_view text;
};

std::span<const TrainingPreset> training_presets();

}  // namespace hoccl::sim
