#include "engine/pipeline/send_stager.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "tests/engine/pipeline/scripted_port.h"

namespace hoccl::engine {
namespace {

/// Rank 1 of a 2x4 machine is the send stager; rank 0 leases its slots (4) towards the NICs of the
/// other node. The test plays the source and the receive stagers.
class SendStagerTest : public ::testing::Test {
 protected:
  static OperationId operation(std::uint32_t number) {
    OperationId id;
    id.number = number;
    return id;
  }

  void lease(std::uint32_t number, int receive_nic, int chunks) {
    LeaseRequestMessage request = relay_request(number, Rank(receive_nic), chunks);
    request.send_nic = NicId(1);
    request.receive_nic = NicId(receive_nic);
    stager().lease_requested(Rank(0), request);
  }

  /// To a rank of this node.
  static LeaseRequestMessage relay_request(std::uint32_t number, Rank target, int chunks) {
    LeaseRequestMessage request;
    request.operation = operation(number);
    request.flow = FlowId(0);
    request.target = target;
    request.place = PlaceId(1);
    request.chunks = chunks;
    request.total = chunks;
    return request;
  }

  void credit(int receive_nic, std::uint16_t slot) {
    CreditMessage message;
    message.send_nic = NicId(1);
    message.receive_nic = NicId(receive_nic);
    message.count = 1;
    message.slots[0] = {slot, static_cast<std::uint16_t>(receive_nic), 1};
    stager().credited(message);
  }

  /// Fills every slot granted so far.
  void stage_all() {
    stager().act();
    stage_granted();
    stager().act();
  }

  void stage_granted() {
    for (const auto& [target, message] : std::exchange(port_.messages, {})) {
      if (kind_of(message) != MessageKind::kLeaseGrant) continue;
      const auto grant = unpack<LeaseGrantMessage>(message);
      for (std::size_t i = 0; i < grant.count; ++i) {
        granted_ += 1;
        Descriptor staged;
        staged.operation = grant.operation;
        staged.flow = 0;
        staged.slot = grant.slots[i].slot;
        staged.place = grant.slots[i].place;
        staged.generation = grant.slots[i].generation;
        staged.size_bytes = 100;
        stager().staged(staged);
      }
    }
  }

  void stage_two_chunks_on_each_of_two_links() {
    lease(1, 5, 2);
    lease(2, 6, 2);
    for (std::uint16_t slot = 0; slot < 2; ++slot) {
      credit(5, slot);
      credit(6, slot);
    }
    stage_all();
  }

  SendStager& stager() {
    if (!stager_) stager_.emplace(port_, options_);
    return *stager_;
  }

  ScriptedPort port_{Rank(1)};
  PipelineOptions options_;
  std::optional<SendStager> stager_;
  int granted_ = 0;
};

TEST_F(SendStagerTest, GrantsNoSlotWithoutACredit) {
  lease(1, 5, 3);
  stage_all();
  EXPECT_EQ(granted_, 0);
  credit(5, 0);
  stage_all();
  EXPECT_EQ(granted_, 1);
}

TEST_F(SendStagerTest, KeepsNoMoreThanTheDepthOfANicInFlight) {
  options_.nic_depth = 2;
  stage_two_chunks_on_each_of_two_links();
  EXPECT_EQ(granted_, 4);
  EXPECT_EQ(port_.writes.size(), 2U);
  stager().written({port_.queue_pair(NicId(1), NicId(5), Rank(5), 0), Ticket(1), Outcome::kOk});
  stager().act();
  EXPECT_EQ(port_.writes.size(), 3U);
}

TEST_F(SendStagerTest, LinksOfANicTakeTurns) {
  options_.nic_depth = 2;
  stage_two_chunks_on_each_of_two_links();
  ASSERT_EQ(port_.writes.size(), 2U);
  EXPECT_NE(port_.writes[0].remote.buffer, port_.writes[1].remote.buffer);
}

TEST_F(SendStagerTest, ASlowFarEndDoesNotFillTheNic) {
  options_.nic_depth = 2;
  stage_two_chunks_on_each_of_two_links();
  const BufferHandle quick = port_.staging(PlaceId(6)).receive_slots;
  ASSERT_EQ(port_.writes.size(), 2U);
  ASSERT_EQ(port_.writes[1].remote.buffer, quick);
  stager().written({port_.queue_pair(NicId(1), NicId(6), Rank(6), 0), Ticket(1), Outcome::kOk});
  stager().act();
  ASSERT_EQ(port_.writes.size(), 3U);
  EXPECT_EQ(port_.writes[2].remote.buffer, quick) << "whoever's turn it is";
}

TEST_F(SendStagerTest, ReturnsCreditsOfACancelledLease) {
  lease(1, 5, 3);
  stager().act();  // asks for the credits
  credit(5, 0);
  FlowMessage cancel;
  cancel.operation = operation(1);
  cancel.flow = FlowId(0);
  port_.messages.clear();
  stager().lease_cancelled(cancel);
  ASSERT_EQ(port_.messages.size(), 2U);
  EXPECT_EQ(kind_of(port_.messages[0].second), MessageKind::kCreditReturn);
  EXPECT_EQ(kind_of(port_.messages[1].second), MessageKind::kCreditCancel);
  EXPECT_EQ(unpack<CreditCountMessage>(port_.messages[1].second).count, 2);
  EXPECT_TRUE(stager().quiescent());
}

TEST_F(SendStagerTest, AChunkThatIsStagedForARelayTargetThatHasDiedKeepsNoSlot) {
  stager().lease_requested(Rank(0), relay_request(1, Rank(3), 1));
  stager().act();
  stager().peer_lost(Rank(3));
  stage_granted();
  EXPECT_EQ(granted_, 1);
  EXPECT_TRUE(stager().quiescent());
}

TEST_F(SendStagerTest, AMessageAboutAnEarlierUseOfASlotIsACheckFailure) {
  lease(1, 5, 1);
  credit(5, 0);
  stager().act();
  Descriptor stale;
  stale.operation = operation(1);
  stale.place = 1;
  stale.generation = 0;
  EXPECT_DEATH(stager().staged(stale), "is of generation 1, the message of 0");
}

}  // namespace
}  // namespace hoccl::engine
