#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hoccl::sim {

/// Whose communication holds SMs, as the paper's Fig. 1 tells it apart.
enum class TrafficClass : std::uint8_t { kTensor, kPipeline, kData, kExpert, kOther };
inline constexpr std::size_t kTrafficClassCount = 5;
inline constexpr std::array<TrafficClass, kTrafficClassCount> kTrafficClasses = {
    TrafficClass::kTensor, TrafficClass::kPipeline, TrafficClass::kData, TrafficClass::kExpert,
    TrafficClass::kOther};

/// "tp", "pp", "dp", "ep" or "other".
constexpr std::string_view to_string(TrafficClass traffic) {
  switch (traffic) {
    case TrafficClass::kTensor:
      return "tp";
    case TrafficClass::kPipeline:
      return "pp";
    case TrafficClass::kData:
      return "dp";
    case TrafficClass::kExpert:
      return "ep";
    case TrafficClass::kOther:
      return "other";
  }
  return "";
}

}  // namespace hoccl::sim
