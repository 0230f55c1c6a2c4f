#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hoccl::engine {

// Chunk states (paper §3.2: "idle, DMA copying, RNIC in progress"), one table of legal moves per
// side. Any other move is a check failure, so a slot can never be reused in flight.

/// kDelivering: relayed inside the node, the target pulls out of the send slot itself.
enum class SendState : std::uint8_t { kIdle, kDmaCopying, kRnicInFlight, kDelivering };
enum class SendEvent : std::uint8_t {
  kGrant,     ///< leased to a source, whose copy engine may write it from now on
  kPost,      ///< staged and posted on the first of its queue pairs
  kWritten,   ///< the NIC has read it for the last time
  kAnnounce,  ///< staged, and the target on this node may pull
  kPulled,    ///< the target has read it
  kRevoke,    ///< given back without crossing the wire
};

enum class ReceiveState : std::uint8_t { kIdle, kCredited, kLanded, kDelivering };
enum class ReceiveEvent : std::uint8_t {
  kCredit,    ///< promised to a send stager, whose NIC may write it from now on
  kArrive,    ///< payload and descriptor are here
  kAnnounce,  ///< the targets may pull
  kPulled,    ///< the last target has read it
  kRevoke,    ///< promise given back unused
};

template <class State, class Event>
struct Move {
  State from;
  Event event;
  State to;
};

std::span<const Move<SendState, SendEvent>> send_moves();
std::span<const Move<ReceiveState, ReceiveEvent>> receive_moves();

/// The state after a legal move; a check failure otherwise.
SendState advance(SendState from, SendEvent event);
ReceiveState advance(ReceiveState from, ReceiveEvent event);

std::string_view to_string(SendState state);
std::string_view to_string(SendEvent event);
std::string_view to_string(ReceiveState state);
std::string_view to_string(ReceiveEvent event);

}  // namespace hoccl::engine
