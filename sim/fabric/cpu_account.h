#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/units.h"

namespace hoccl::sim {

/// What a proxy spends its core's time on.
enum class CpuPart : std::uint8_t {
  kPostCopy,
  kPostWrite,
  kPostMessage,
  kPoll,
  kPlan,
  kBookkeeping,
  kRegistration,  ///< export and import of buffers
  kNotify,        ///< gates opened, submissions finished
};
inline constexpr std::size_t kCpuPartCount = 8;

/// CPU time of one rank's proxy by part.
class CpuAccount {
 public:
  void add(CpuPart part, engine::Seconds time) { times_[static_cast<std::size_t>(part)] += time; }

  [[nodiscard]] engine::Seconds of(CpuPart part) const {
    return times_[static_cast<std::size_t>(part)];
  }
  [[nodiscard]] engine::Seconds total() const {
    engine::Seconds sum{0.0};
    for (const engine::Seconds time : times_) sum += time;
    return sum;
  }

 private:
  std::array<engine::Seconds, kCpuPartCount> times_{};
};

}  // namespace hoccl::sim
