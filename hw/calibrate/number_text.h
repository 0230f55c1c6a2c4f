#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/base/units.h"

namespace hoccl::hw {

// Numbers as calibration files have them.

/// At most `places` digits behind the point, none that says nothing.
inline std::string digits(double value, int places) {
  std::string text = fmt::format("{:.{}f}", value, places);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

inline std::string in_us(engine::Seconds time) {
  return digits(std::max(0.0, engine::microseconds(time)), 3) + "us";
}

inline std::string in_gigabytes(engine::BytesPerSecond rate) {
  return digits(engine::gigabytes_per_second(rate), 2) + " GB/s";
}

}  // namespace hoccl::hw
