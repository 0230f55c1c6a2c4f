#include "hw/calibrate/spin.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hw/calibrate/calibration_failed.h"

namespace hoccl::hw {

using engine::Seconds;

void never_happened(const char* what) {
  throw CalibrationFailed(fmt::format("{}: not within {} s", what, kPatience.count()));
}

void spin_for(Seconds duration) {
  const Seconds end = monotonic_now() + duration;
  while (monotonic_now() < end) {
  }
}

Seconds clock_cost() {
  static const Seconds cost = [] {
    std::array<Seconds, 1001> samples;
    for (Seconds& each : samples) {
      const Seconds begin = monotonic_now();
      each = monotonic_now() - begin;
    }
    std::ranges::nth_element(samples, samples.begin() + samples.size() / 2);
    return samples[samples.size() / 2];
  }();
  return cost;
}

}  // namespace hoccl::hw
