#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/fabric.h"
#include "hw/link/path_book.h"
#include "hw/link/wire_header.h"
#include "hw/verbs/rc_queue_pair.h"
#include "hw/verbs/registration.h"

namespace hoccl::hw {

/// What a conduit is for.
enum class ConduitUse : std::uint8_t {
  kWrites,    ///< one of the engine's queue pairs
  kMessages,  ///< to one peer
  kProbe,     ///< finds out whether one path works
};

/// The sending end of a conduit: what it has to send, and the queue pair that it has now.
struct Outlet {
  /// A write, or a message, that is not known to have come.
  struct Item {
    WireHeader header;
    std::optional<engine::WriteRequest> write;
    engine::Seconds posted_at;  ///< to the queue pair
  };
  enum class State : std::uint8_t {
    kUnconnected,  ///< no queue pair, and none on its way
    kConnecting,
    kReady,
    kClosing,  ///< no path works: the receiver is asked what has come
    kBroken,   ///< no path works, and the receiver has answered
    kLost,     ///< so is the peer
  };

  std::uint32_t number = 0;
  engine::Rank peer;
  engine::NicId local;  ///< of the engine's queue pair
  engine::NicId remote;
  ConduitUse use = ConduitUse::kWrites;
  Path preferred;
  Path path;  ///< of the present attempt
  State state = State::kUnconnected;
  std::uint32_t attempt = 0;
  int faults = 0;  ///< failures since something last came
  std::unique_ptr<RcQueuePair> queue_pair;
  WireAddress ring;                 ///< the receiver's
  std::vector<WireHeader> headers;  ///< where the NIC has no inline: read from here
  RegisteredMemory header_memory;
  std::vector<std::byte> probe;  ///< kProbe: what it writes
  RegisteredMemory probe_memory;
  std::deque<Item> items;  ///< oldest first
  std::size_t posted = 0;  ///< so many of them are on the queue pair
  std::uint64_t last_sequence = 0;
  std::uint64_t unsendable = 0;  ///< an item that no queue pair can carry; 0: none

  [[nodiscard]] std::uint64_t first_sequence() const { return last_sequence - items.size() + 1; }
};

}  // namespace hoccl::hw
