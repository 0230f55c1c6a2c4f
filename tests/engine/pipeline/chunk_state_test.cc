#include "engine/pipeline/chunk_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace hoccl::engine {
namespace {

constexpr std::array kSendStates = {SendState::kIdle, SendState::kDmaCopying,
                                    SendState::kRnicInFlight};
constexpr std::array kSendEvents = {SendEvent::kGrant, SendEvent::kPost, SendEvent::kWritten,
                                    SendEvent::kRevoke};
constexpr std::array kReceiveStates = {ReceiveState::kIdle, ReceiveState::kCredited,
                                       ReceiveState::kLanded, ReceiveState::kDelivering};
constexpr std::array kReceiveEvents = {ReceiveEvent::kCredit, ReceiveEvent::kArrive,
                                       ReceiveEvent::kAnnounce, ReceiveEvent::kPulled,
                                       ReceiveEvent::kRevoke};

TEST(ChunkState, SendSlotGoesThroughThePapersStates) {
  SendState state = SendState::kIdle;
  state = advance(state, SendEvent::kGrant);
  EXPECT_EQ(state, SendState::kDmaCopying);
  state = advance(state, SendEvent::kPost);
  EXPECT_EQ(state, SendState::kRnicInFlight);
  state = advance(state, SendEvent::kWritten);
  EXPECT_EQ(state, SendState::kIdle);
}

TEST(ChunkState, ReceiveSlotComesBackToIdle) {
  ReceiveState state = ReceiveState::kIdle;
  for (const ReceiveEvent event : {ReceiveEvent::kCredit, ReceiveEvent::kArrive,
                                   ReceiveEvent::kAnnounce, ReceiveEvent::kPulled}) {
    state = advance(state, event);
  }
  EXPECT_EQ(state, ReceiveState::kIdle);
}

/// Every pair that is not in the table must die; with the table listed once, a move added by
/// mistake changes this count.
TEST(ChunkStateDeathTest, EveryMoveOutsideTheTableIsACheckFailure) {
  std::size_t illegal = 0;
  for (const SendState state : kSendStates) {
    for (const SendEvent event : kSendEvents) {
      const bool legal = std::ranges::any_of(
          send_moves(), [&](const auto& m) { return m.from == state && m.event == event; });
      if (legal) continue;
      illegal += 1;
      EXPECT_DEATH(advance(state, event), "no move from chunk state");
    }
  }
  EXPECT_EQ(illegal, kSendStates.size() * kSendEvents.size() - 4);
}

TEST(ChunkStateDeathTest, EveryReceiveMoveOutsideTheTableIsACheckFailure) {
  std::size_t illegal = 0;
  for (const ReceiveState state : kReceiveStates) {
    for (const ReceiveEvent event : kReceiveEvents) {
      const bool legal = std::ranges::any_of(
          receive_moves(), [&](const auto& m) { return m.from == state && m.event == event; });
      if (legal) continue;
      illegal += 1;
      EXPECT_DEATH(advance(state, event), "no move from chunk state");
    }
  }
  EXPECT_EQ(illegal, kReceiveStates.size() * kReceiveEvents.size() - 6);
}

TEST(ChunkState, NoEventIsAmbiguous) {
  std::set<std::pair<SendState, SendEvent>> send;
  for (const auto& move : send_moves()) EXPECT_TRUE(send.emplace(move.from, move.event).second);
  std::set<std::pair<ReceiveState, ReceiveEvent>> receive;
  for (const auto& move : receive_moves()) {
    EXPECT_TRUE(receive.emplace(move.from, move.event).second);
  }
}

}  // namespace
}  // namespace hoccl::engine
