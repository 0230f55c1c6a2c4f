#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/fabric.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// What a proxy does at its seam when a chunk or an operation changes its state there.
enum class SeamEvent : std::uint8_t {
  kReadyPolled,    ///< source: the target is ready
  kGrantPolled,    ///< source: send slots are leased
  kStageInPosted,  ///< source: a chunk is on its way into a send slot
  kDirectPosted,   ///< source: a chunk is on its way into the target's buffer
  kStagedPolled,   ///< send relay: a chunk lies in a send slot
  kWritePosted,    ///< send relay: a chunk is on the wire
  kArrivedPolled,  ///< receive relay: a chunk lies in a receive slot
  kLandedPolled,   ///< target: it may be pulled
  kDeliverPosted,  ///< target: it is on its way into the target's buffer
};
inline constexpr SeamEvent kLastSeamEvent = SeamEvent::kDeliverPosted;
std::string_view to_string(SeamEvent event);

enum class TrapAction : std::uint8_t {
  kDie,   ///< SIGKILL of its own process, at once
  kHold,  ///< the proxy stands still until release()
};

/// Springs when `rank` sees `event` for the count-th time.
struct SeamTrap {
  engine::Rank rank;
  SeamEvent event = SeamEvent::kReadyPolled;
  int count = 1;
  TrapAction action = TrapAction::kHold;
};

/// How a test and the trap in one of its ranks tell each other; made before the ranks are.
class TrapLine {
 public:
  TrapLine();
  /// Test: whether the trap springs within the time.
  [[nodiscard]] bool await_spring(engine::Seconds timeout) const;
  /// Test: the proxy goes on.
  void release() const;
  /// Rank: has sprung; returns when released.
  void spring_and_hold() const;

 private:
  FileDescriptor sprung_;
  FileDescriptor released_;
};

/// `port` with the trap in it; both must outlive it.
std::unique_ptr<engine::Port> with_trap(engine::Port& port, const SeamTrap& trap,
                                        const TrapLine& line);

}  // namespace hoccl::hw
