#pragma once

// What two verbs links tell each other over the RemoteMesh, as pure functions on bytes.
//
// A conduit is an ordered sequence of writes or messages from one rank to another that survives its
// queue pairs. Its sender makes every attempt to connect it:
//
//   sender -> receiver  Connect  "attempt n: my end of the queue pair is here, on this pair of
//   NICs" receiver -> sender  Accept   "mine is there; up to number r all has come"     or Refuse
//
// Before it answers, the receiver has put the queue pair of the attempt before into error and has
// seen everything that came over it. So nothing comes over that one any more, r is exact, and what
// is sent again from r + 1 on comes once. Close and Closed do the same without a new queue pair.
// Item carries a message while no queue pair works.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "hw/link/wire_header.h"
#include "hw/verbs/nic_address.h"

namespace hoccl::hw {

/// NICs of one node.
inline constexpr std::size_t kMaxNics = 16;
/// Conduits from one rank: one per engine queue pair, peer and path under test.
inline constexpr std::uint32_t kMaxConduits = 1U << 20;

struct ConnectFrame {
  std::uint32_t conduit = 0;
  std::uint32_t attempt = 0;
  std::uint32_t sender_nic = 0;    ///< index among the sender's NICs
  std::uint32_t receiver_nic = 0;  ///< among the receiver's
  /// Of the oldest item that is still to be sent: those before it have come, or never will.
  std::uint64_t first_sequence = 1;
  QueuePairAddress sender;
};
struct AcceptFrame {
  std::uint32_t conduit = 0;
  std::uint32_t attempt = 0;
  std::uint64_t received = 0;
  std::uint64_t ring_address = 0;
  std::uint32_t ring_key = 0;
  std::uint32_t reserved = 0;
  QueuePairAddress receiver;
};
/// The receiver could not make or connect its end.
struct RefuseFrame {
  std::uint32_t conduit = 0;
  std::uint32_t attempt = 0;
  std::uint64_t received = 0;
  std::int32_t error_number = 0;
  std::uint32_t reserved = 0;
};
struct CloseFrame {
  std::uint32_t conduit = 0;
  std::uint32_t attempt = 0;
};
struct ClosedFrame {
  std::uint32_t conduit = 0;
  std::uint32_t attempt = 0;
  std::uint64_t received = 0;
};
/// The receiver's end has failed by itself.
struct BrokenFrame {
  std::uint32_t conduit = 0;
  std::uint32_t attempt = 0;
};
struct ItemFrame {
  std::uint32_t conduit = 0;
  std::uint32_t reserved = 0;
  WireHeader header;
};
/// Where is your user buffer?
struct ImportFrame {
  std::int32_t buffer = -1;
};
struct ImportedFrame {
  std::int32_t buffer = -1;
  std::uint32_t ok = 0;
  std::uint64_t address = 0;
  std::int64_t size_bytes = 0;
  std::array<std::uint32_t, kMaxNics> keys{};  ///< by NIC of its owner
};

using ControlFrame = std::variant<ConnectFrame, AcceptFrame, RefuseFrame, CloseFrame, ClosedFrame,
                                  BrokenFrame, ItemFrame, ImportFrame, ImportedFrame>;

std::string encode(const ControlFrame& frame);

/// What a frame may name.
struct FrameLimits {
  std::uint32_t sender_nics = 0;    ///< of the rank that sent it
  std::uint32_t receiver_nics = 0;  ///< of the rank that reads it
};
/// Nothing when it is none of the above, or a field is out of range. Whether it fits what was said
/// before is for the link to check.
std::optional<ControlFrame> decode_control_frame(std::string_view bytes, const FrameLimits& limits);

}  // namespace hoccl::hw
