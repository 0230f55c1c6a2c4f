// IdealFabric ends a run in which somebody breaks a rule of the seam. Without these tests the fuzz
// tests might pass because nothing is checked.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/ideal_fabric.h"

namespace hoccl::engine {
namespace {

using namespace literals;

const Lane kLane{CopyClass::kPeer, 0};
constexpr Bytes kSize = 1_KiB;

class IdealRules : public testing::Test {
 protected:
  explicit IdealRules(Timing timing = Timing::kClosedForm)
      : fabric_(resolve_topology("h800-2x4"), options(timing)) {}

  static IdealOptions options(Timing timing) {
    IdealOptions result;
    result.timing = timing;
    result.slot_size = kSize;
    result.queue_depth = 2;
    return result;
  }

  Port& port(int rank) { return fabric_.port(Rank(rank)); }
  Region user(int rank) { return {fabric_.allocate(Rank(rank), kSize), Bytes(0), kSize}; }
  Region slot(int gpu, bool send, int index) {
    const StagingPlace& staging = port(0).staging(fabric_.topology().gpu_place(GpuId(gpu)));
    return {send ? staging.send_slots : staging.receive_slots, kSize * index, kSize};
  }
  void copy(int rank, const Region& source, const Region& target, Lane lane = kLane) {
    port(rank).post_copy(lane, {source, target, Leg::kDirect, {}});
    port(rank).flush();
  }
  void write(const Region& local, const Region& remote) {
    WriteRequest request;
    request.local = local;
    request.remote = remote;
    port(1).post_write(port(1).queue_pair(NicId(1), NicId(5), Rank(5), 0), request);
  }
  /// Lets everything end and be seen to have ended.
  void settle() {
    fabric_.run();
    for (int rank = 0; rank < 8; ++rank) {
      std::array<Completion, 64> completions;
      while (port(rank).poll(completions) > 0) {
      }
    }
  }
  void map(int owner, BufferHandle buffer, int importer) {
    port(owner).export_buffer(buffer);
    settle();
    port(importer).import_buffer(buffer);
    settle();
  }

  IdealFabric fabric_;
};

TEST_F(IdealRules, NicsTouchOnlyRegisteredUserBuffers) {
  const Region sent = user(1);
  const Region received = user(5);
  EXPECT_DEATH(write(sent, received), "not in a registered buffer of rank 1");
  port(1).register_buffer(sent.buffer);
  settle();
  EXPECT_DEATH(write(sent, received), "that rank 5 has registered and rank 1 imported");
  EXPECT_DEATH(port(1).import_buffer(received.buffer), "too early");
  port(5).register_buffer(received.buffer);
  settle();
  EXPECT_DEATH(write(sent, received), "that rank 5 has registered and rank 1 imported");
  port(1).import_buffer(received.buffer);
  settle();
  write(sent, received);
  settle();
}

TEST_F(IdealRules, OwnNicsAreNextToTheirGpus) {
  const Region sent = user(1);
  EXPECT_DEATH(port(1).queue_pair(NicId(1), NicId(5), Rank(6), 0), "rank 6 cannot use NIC 5");
  EXPECT_DEATH(port(2).queue_pair(NicId(1), NicId(5), Rank(5), 0), "rank 2 cannot use NIC 1");
  port(1).register_buffer(sent.buffer);
  settle();
  EXPECT_DEATH(write(sent, slot(5, false, 0)), "that rank 5 has registered");
}

TEST_F(IdealRules, RegionsLieInTheirBuffers) {
  Region beyond = user(0);
  beyond.offset = Bytes(1);
  EXPECT_DEATH(copy(0, beyond, slot(1, true, 0)), "are not within buffer");
}

TEST_F(IdealRules, NothingIsCopiedWithinAGpu) {
  EXPECT_DEATH(copy(0, user(0), slot(0, true, 0)), "stays within one GPU");
}

TEST_F(IdealRules, TheExecutingGpuIsAnEndOfTheCopy) {
  copy(0, user(0), slot(1, true, 0));
  settle();
  EXPECT_DEATH(copy(0, slot(1, true, 0), slot(2, true, 0)), "neither its source nor its target");
}

TEST_F(IdealRules, ForeignBuffersMustBeImported) {
  const Region target = user(1);
  EXPECT_DEATH(copy(0, user(0), target), "not mapped here");
  map(1, target.buffer, 0);
  copy(0, user(0), target);
  settle();
}

TEST_F(IdealRules, BuffersAreImportedAfterTheyWereExported) {
  const Region target = user(1);
  EXPECT_DEATH(port(0).import_buffer(target.buffer), "too early");
}

TEST_F(IdealRules, SlotsOfOtherNodesAreNotMapped) {
  EXPECT_DEATH(copy(0, user(0), slot(5, true, 0)), "not mapped here");
}

TEST_F(IdealRules, ALaneHasOneClass) {
  EXPECT_DEATH(copy(0, user(0), slot(1, true, 0), {CopyClass::kDeviceToHost, 0}), "but needs");
}

TEST_F(IdealRules, NothingIsWrittenWhileItIsWritten) {
  copy(0, user(0), slot(1, true, 0));
  EXPECT_DEATH(copy(2, user(2), slot(1, true, 0)), "still writes");
}

TEST_F(IdealRules, NothingIsWrittenWhileItIsRead) {
  copy(0, user(0), slot(1, true, 0));
  settle();
  write(slot(1, true, 0), slot(5, false, 0));
  EXPECT_DEATH(copy(0, user(0), slot(1, true, 0)), "still reads");
}

TEST_F(IdealRules, ACopyIsInFlightUntilItsCompletionIsSeen) {
  copy(0, user(0), slot(1, true, 0));
  fabric_.run();  // it has ended, but its poster cannot know
  EXPECT_DEATH(write(slot(1, true, 0), slot(5, false, 0)), "still writes");
}

TEST_F(IdealRules, ASlotIsReadBeforeItIsWrittenAgain) {
  copy(0, user(0), slot(1, true, 0));
  settle();
  EXPECT_DEATH(copy(0, user(0), slot(1, true, 0)), "before it was read");
}

TEST_F(IdealRules, AnEmptySlotIsNotRead) {
  EXPECT_DEATH(write(slot(1, true, 0), slot(5, false, 0)), "of a slot that holds");
}

TEST_F(IdealRules, AReceiveSlotIsReadOnceByEachTarget) {
  copy(0, user(0), slot(1, true, 0));
  settle();
  write(slot(1, true, 0), slot(5, false, 0));
  settle();
  copy(4, slot(5, false, 0), user(4));
  settle();
  EXPECT_DEATH(copy(4, slot(5, false, 0), user(4)), "of a slot that holds");
}

TEST_F(IdealRules, ASendSlotIsReadForSeveralNodes) {
  copy(0, user(0), slot(1, true, 0));
  settle();
  write(slot(1, true, 0), slot(5, false, 0));
  write(slot(1, true, 0), slot(5, false, 1));
  settle();
  copy(0, user(0), slot(1, true, 0));
  settle();
}

TEST_F(IdealRules, AUserByteIsWrittenOnce) {
  const Region target = user(1);
  map(1, target.buffer, 0);
  copy(0, user(0), target);
  settle();
  fabric_.reset_written(target.buffer);
  copy(0, user(0), target);
  settle();
  copy(0, user(0), target);
  EXPECT_DEATH(settle(), "is written twice");
}

TEST_F(IdealRules, WritesLeaveFromTheSlotsOfTheirNic) {
  EXPECT_DEATH(write(slot(2, true, 0), slot(5, false, 0)), "not in the send slots of NIC 1");
}

TEST_F(IdealRules, WritesEndInTheSlotsOfTheRemoteNic) {
  copy(0, user(0), slot(1, true, 0));
  settle();
  EXPECT_DEATH(write(slot(1, true, 0), slot(6, false, 0)), "not in the receive slots of NIC 5");
}

TEST_F(IdealRules, QueuePairsBelongToTheHostOfTheirPlace) {
  EXPECT_DEATH(port(0).queue_pair(NicId(1), NicId(5), Rank(5), 0), "cannot use NIC 1");
}

TEST_F(IdealRules, QueuesHaveADepth) {
  for (int i = 0; i < 3; ++i) copy(0, user(0), slot(1, true, i));
  settle();
  write(slot(1, true, 0), slot(5, false, 0));
  write(slot(1, true, 1), slot(5, false, 1));
  EXPECT_DEATH(write(slot(1, true, 2), slot(5, false, 2)), "are in flight on queue pair");
}

TEST_F(IdealRules, GatesDoNotClose) {
  port(0).open_gate({0, StreamId(0)}, 5);
  EXPECT_DEATH(port(0).open_gate({0, StreamId(0)}, 4), "closes the gate");
}

TEST_F(IdealRules, SequencesOfAStreamGrow) {
  port(0).enqueue_ready({0, StreamId(0)}, 2);
  EXPECT_DEATH(port(0).enqueue_ready({0, StreamId(0)}, 2), "after ready");
}

TEST_F(IdealRules, WorkIsFinishedOnce) {
  port(0).finish(WorkId(3), Status());
  EXPECT_DEATH(port(0).finish(WorkId(3), Status()), "twice");
}

TEST_F(IdealRules, TheDeadDoNothing) {
  fabric_.kill(Rank(0), 1_us);
  fabric_.run();
  EXPECT_DEATH(port(0).post_message(Rank(1), Message()), "after its death");
}

class IdealAdversaryRules : public IdealRules {
 protected:
  IdealAdversaryRules() : IdealRules(Timing::kAdversarial) {}
};

TEST_F(IdealAdversaryRules, TheSourceOfACopyMustNotChange) {
  const Region source = user(0);
  copy(0, source, slot(1, true, 0));
  // Longer than any adversarial delay, cut into steps: one of them is between read and end.
  for (int i = 0; i < 10000; ++i) {
    fabric_.at(Seconds(i * 1e-8), [this, source, i] {
      std::ranges::fill(fabric_.bytes(source), static_cast<std::byte>(i & 0xff));
    });
  }
  EXPECT_DEATH(settle(), "has changed");
}

}  // namespace
}  // namespace hoccl::engine
