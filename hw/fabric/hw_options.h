#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/units.h"

namespace hoccl::hw {

/// What copies: worker threads with memcpy, or (not built yet) the copy engines of a CUDA GPU.
enum class CopyKind : std::uint8_t { kHost };
/// What a wire leg is: shared memory copied by a thread that plays the NIC, or a slot that changes
/// owner without being copied, for measuring the copy legs alone.
enum class LinkKind : std::uint8_t { kLoopback, kLoopbackMap };

std::string_view to_string(CopyKind kind);
std::string_view to_string(LinkKind kind);
/// Throw ConfigError listing the known names.
CopyKind parse_copy_kind(std::string_view name);
LinkKind parse_link_kind(std::string_view name);

/// Equal on all ranks of a job.
struct HwOptions {
  CopyKind copy = CopyKind::kHost;
  LinkKind link = LinkKind::kLoopback;
  int slots = 16;  ///< send slots and receive slots, each, of every staging place
  engine::Bytes slot_size{std::int64_t{2} << 20};
  /// loopback only: per NIC and direction of sending; none: as fast as it is copied.
  std::optional<engine::BytesPerSecond> link_rate;
  /// loopback only: from the last byte sent to its arrival.
  engine::Seconds link_delay{0.0};
  /// Worker threads of each copy engine.
  int copy_threads = 1;
};

}  // namespace hoccl::hw
