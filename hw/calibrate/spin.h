#pragma once

#include "engine/base/units.h"
#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

/// No measurement waits longer for anything: a GPU that hangs must not hang the program.
inline constexpr engine::Seconds kPatience{2.0};

/// Throws CalibrationFailed.
[[noreturn]] void never_happened(const char* what);

/// Polls until `done()` is true; returns when that was seen. Throws CalibrationFailed.
template <class Done>
engine::Seconds spin_until(const char* what, Done done) {
  const engine::Seconds begin = monotonic_now();
  while (true) {
    const bool is_done = done();
    const engine::Seconds now = monotonic_now();
    if (is_done) return now;
    if (now - begin > kPatience) never_happened(what);
  }
}

/// Without sleeping, which would let the core's clock fall.
void spin_for(engine::Seconds duration);

/// What the two looks at the clock around a call add to its time.
engine::Seconds clock_cost();

/// Of one call, without that.
template <class Call>
engine::Seconds time_of(Call call) {
  const engine::Seconds begin = monotonic_now();
  call();
  return monotonic_now() - begin - clock_cost();
}

}  // namespace hoccl::hw
