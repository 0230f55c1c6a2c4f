#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include "engine/base/units.h"
#include "hw/copy/copy_channel.h"
#include "hw/proof/activity.h"

namespace hoccl::hw {

/// Some copies, counted. Sizes are of single copies; of a batch that is one record, the mean.
struct CopyCount {
  std::int64_t copies = 0;
  engine::Bytes bytes;
  engine::Bytes smallest;
  engine::Bytes largest;

  bool operator==(const CopyCount&) const = default;
};

/// What one or several processes' GPUs did during some operations. Plain and of fixed size, so that
/// ranks can exchange it.
struct ZeroSmVerdict {
  std::array<CopyCount, kCopyDirectionCount> on_engines;  ///< by CopyDirection
  /// Copies below `smallest_dma_copy` that were not on a copy engine. Do not count against it.
  std::array<CopyCount, kCopyDirectionCount> small;
  std::array<CopyCount, kCopyDirectionCount> offending;
  engine::Bytes smallest_dma_copy;
  std::int64_t kernels = 0;
  std::int64_t memsets_on_sms = 0;
  std::int64_t memsets_on_engines = 0;
  std::int64_t incomplete = 0;  ///< records of work that had not ended when the recorder stopped
  std::int64_t lost = 0;        ///< records that found no room
  std::array<char, 160> first_offender{};

  /// Something was copied, all of it by copy engines, and nothing else was done by the GPU.
  [[nodiscard]] bool holds() const;
  bool operator==(const ZeroSmVerdict&) const = default;
};
static_assert(std::is_trivially_copyable_v<ZeroSmVerdict>);

/// `lost`: records that the recorder knows it missed. A copy within one GPU counts at any size; of
/// a batch that was not on a copy engine the size of its copies is not known, so it counts when its
/// copies together reach `smallest_dma_copy`.
ZeroSmVerdict judge(std::span<const Activity> activities, std::int64_t lost = 0,
                    engine::Bytes smallest_dma_copy = kSmallestDmaCopy);

/// Of both together. An empty verdict changes nothing.
ZeroSmVerdict merge(const ZeroSmVerdict& left, const ZeroSmVerdict& right);

/// One or more lines, each starting with '#' and ending in a line break, as the head of a table:
/// "# zero SM: yes - copies on copy engines: 512 D2H of 2MiB, 512 H2D of 2MiB; no kernel; no
/// memset".
std::string to_string(const ZeroSmVerdict& verdict);

}  // namespace hoccl::hw
