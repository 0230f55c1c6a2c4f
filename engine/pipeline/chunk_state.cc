#include "engine/pipeline/chunk_state.h"

#include <array>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

constexpr auto kSendMoves = std::to_array<Move<SendState, SendEvent>>({
    {SendState::kIdle, SendEvent::kGrant, SendState::kDmaCopying},
    {SendState::kDmaCopying, SendEvent::kPost, SendState::kRnicInFlight},
    {SendState::kRnicInFlight, SendEvent::kWritten, SendState::kIdle},
    {SendState::kDmaCopying, SendEvent::kAnnounce, SendState::kDelivering},
    {SendState::kDelivering, SendEvent::kPulled, SendState::kIdle},
    {SendState::kDmaCopying, SendEvent::kRevoke, SendState::kIdle},
    // A target that died before it pulled.
    {SendState::kDelivering, SendEvent::kRevoke, SendState::kIdle},
});

constexpr auto kReceiveMoves = std::to_array<Move<ReceiveState, ReceiveEvent>>({
    {ReceiveState::kIdle, ReceiveEvent::kCredit, ReceiveState::kCredited},
    {ReceiveState::kCredited, ReceiveEvent::kArrive, ReceiveState::kLanded},
    {ReceiveState::kLanded, ReceiveEvent::kAnnounce, ReceiveState::kDelivering},
    {ReceiveState::kDelivering, ReceiveEvent::kPulled, ReceiveState::kIdle},
    {ReceiveState::kCredited, ReceiveEvent::kRevoke, ReceiveState::kIdle},
    // A target that died before it pulled.
    {ReceiveState::kDelivering, ReceiveEvent::kRevoke, ReceiveState::kIdle},
});

template <class State, class Event>
State advance_in(std::span<const Move<State, Event>> moves, State from, Event event) {
  for (const auto& move : moves) {
    if (move.from == from && move.event == event) return move.to;
  }
  HOCCL_CHECK(false, "no move from chunk state {} by {}", to_string(from), to_string(event));
  return from;
}

}  // namespace

std::span<const Move<SendState, SendEvent>> send_moves() { return kSendMoves; }
std::span<const Move<ReceiveState, ReceiveEvent>> receive_moves() { return kReceiveMoves; }

SendState advance(SendState from, SendEvent event) { return advance_in(send_moves(), from, event); }
ReceiveState advance(ReceiveState from, ReceiveEvent event) {
  return advance_in(receive_moves(), from, event);
}

std::string_view to_string(SendState state) {
  switch (state) {
    case SendState::kIdle:
      return "idle";
    case SendState::kDmaCopying:
      return "dma_copying";
    case SendState::kRnicInFlight:
      return "rnic_in_flight";
    case SendState::kDelivering:
      return "delivering";
  }
  return "?";
}

std::string_view to_string(SendEvent event) {
  switch (event) {
    case SendEvent::kGrant:
      return "grant";
    case SendEvent::kPost:
      return "post";
    case SendEvent::kWritten:
      return "written";
    case SendEvent::kAnnounce:
      return "announce";
    case SendEvent::kPulled:
      return "pulled";
    case SendEvent::kRevoke:
      return "revoke";
  }
  return "?";
}

std::string_view to_string(ReceiveState state) {
  switch (state) {
    case ReceiveState::kIdle:
      return "idle";
    case ReceiveState::kCredited:
      return "credited";
    case ReceiveState::kLanded:
      return "landed";
    case ReceiveState::kDelivering:
      return "delivering";
  }
  return "?";
}

std::string_view to_string(ReceiveEvent event) {
  switch (event) {
    case ReceiveEvent::kCredit:
      return "credit";
    case ReceiveEvent::kArrive:
      return "arrive";
    case ReceiveEvent::kAnnounce:
      return "announce";
    case ReceiveEvent::kPulled:
      return "pulled";
    case ReceiveEvent::kRevoke:
      return "revoke";
  }
  return "?";
}

}  // namespace hoccl::engine
