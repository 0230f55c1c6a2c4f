#include "hw/system/monotonic_clock.h"

#include <chrono>

namespace hoccl::hw {

engine::Seconds monotonic_now() {
  return std::chrono::duration_cast<engine::Seconds>(
      std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace hoccl::hw
