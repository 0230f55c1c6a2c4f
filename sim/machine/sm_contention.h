#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/units.h"

namespace hoccl::sim {

/// Which way a kernel works, as far as contention depends on it (paper §2.1, Fig. 2).
enum class Phase : std::uint8_t { kForward, kBackward, kOther };
inline constexpr std::size_t kPhaseCount = 3;

/// How SMs held by communication slow a compute kernel down.
enum class ContentionKind : std::uint8_t {
  kNone,   ///< not at all
  kLine,   ///< by the paper's line (Fig. 2)
  kWaves,  ///< its tiles need as many waves more as fewer SMs take; the line where tiles are
           ///< unknown
};

/// "none", "line" or "waves"; ConfigError otherwise.
ContentionKind parse_contention_kind(std::string_view text);
std::string_view to_string(ContentionKind kind);

/// The two terms of contention: SMs that are held, and bytes that go through the GPU's memory.
struct SmContention {
  ContentionKind kind = ContentionKind::kLine;
  int sms = 0;  ///< of a GPU
  /// Longer by this per share of the SMs that is held.
  double forward_slope = 0.0;
  double backward_slope = 0.0;
  /// Longer by this much of the time in which the memory alone would have moved the traffic.
  double memory_slope = 0.0;
  engine::BytesPerSecond memory_rate;

  /// Work done per time, 1 with no SM held. `tiles`: thread blocks, one per SM and wave; 0:
  /// unknown. At least one SM is left to the kernel.
  [[nodiscard]] double rate(Phase phase, std::int64_t tiles, int held) const;
  /// What `traffic` through the memory adds to a kernel that runs meanwhile.
  [[nodiscard]] engine::Seconds delay(engine::Bytes traffic) const;
};

}  // namespace hoccl::sim
