#pragma once

#include <fmt/format.h>

#include <utility>

#include "engine/base/check.h"
#include "engine/base/units.h"
#include "engine/schedule/bounds.h"

namespace hoccl::engine {

/// Keeps the longest time seen and the port that caused it.
class Longest {
 public:
  template <class... Args>
  void consider(Bytes load, BytesPerSecond rate, fmt::format_string<Args...> port, Args&&... args) {
    if (load == Bytes(0)) return;
    HOCCL_CHECK(rate.value() > 0.0, "rate {} under a load of {} bytes", rate.value(), load.count());
    const Seconds time = load / rate;
    if (!bound_.port.empty() && time <= bound_.time) return;
    bound_ = {time, fmt::format(port, std::forward<Args>(args)...)};
  }

  [[nodiscard]] const Bound& bound() const { return bound_; }

 private:
  Bound bound_;
};

}  // namespace hoccl::engine
