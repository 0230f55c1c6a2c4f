#pragma once

// Frames on a connection whose two ends have proved that they know the secret, as pure functions on
// bytes: payload size (4 bytes, at most kMaxFramePayload), payload, MAC. The MAC's key belongs to
// one direction of one connection, and it covers the frame's number, so that no frame can be
// forged, replayed, left out or reflected.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hw/bootstrap/authentication.h"

namespace hoccl::hw {

/// 1 MiB and one byte for the kind of frame.
inline constexpr std::size_t kMaxFramePayload = (std::size_t{1} << 20) + 1;

class FrameWriter {
 public:
  explicit FrameWriter(const MacKey& key) : key_(key) {}

  /// Appends the next frame to `target`.
  void append(std::string_view payload, std::string& target);

 private:
  MacKey key_;
  std::uint64_t number_ = 0;
};

enum class FrameFault : std::uint8_t { kNone, kOversized, kForged };

class FrameReader {
 public:
  explicit FrameReader(const MacKey& key) : key_(key) {}

  /// What was received, in any portions. To be followed by next() until it has nothing more:
  /// so never more than one frame and one portion is kept.
  void append(std::string_view bytes) { pending_.append(bytes); }
  /// The payload of the next complete frame. After a fault there is none any more.
  std::optional<std::string> next();
  [[nodiscard]] FrameFault fault() const { return fault_; }

 private:
  MacKey key_;
  std::uint64_t number_ = 0;
  std::string pending_;
  FrameFault fault_ = FrameFault::kNone;
};

}  // namespace hoccl::hw
