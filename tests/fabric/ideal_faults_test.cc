// Single faults under real proxies: each ends its operation with a status that names rank, peer,
// link and chunk, in time, and leaves the others alone.

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/byte_pattern.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr Bytes kChunk = 4_KiB;
constexpr Bytes kMessage = 64_KiB;
constexpr Seconds kTimeout = Seconds(0.5);

class IdealFaultsTest : public testing::Test {
 protected:
  void start(const IdealFaults& faults, Forwarding forwarding = Forwarding::kSymmetric,
             std::string_view topology = "h800-2x4") {
    IdealOptions options;
    options.slot_size = kChunk;
    options.slots_are_read = false;
    options.faults = faults;
    fabric_ = std::make_unique<IdealFabric>(preset_topology(topology), options);
    PipelineOptions pipeline;
    pipeline.timeout = kTimeout;
    CompileOptions compile;
    compile.chunk_size = kChunk;
    compile.forwarding = forwarding;
    job_ = std::make_unique<Job>(*fabric_, fabric_->topology().rank_count(), pipeline, compile);
  }

  struct Pair {
    std::shared_ptr<Work> sent;
    std::shared_ptr<Work> received;
    Region target;
  };
  Pair transfer(int source, int target) {
    Pair pair;
    const Region from{fabric_->allocate(Rank(source), kMessage), Bytes(0), kMessage};
    pair.target = {fabric_->allocate(Rank(target), kMessage), Bytes(0), kMessage};
    fill_pattern(fabric_->bytes(from), 5);
    pair.sent = job_->communicator(Rank(source)).send(from, Rank(target), StreamId(0));
    pair.received =
        job_->communicator(Rank(target)).receive(pair.target, Rank(source), StreamId(0));
    return pair;
  }
  void run() {
    EXPECT_EQ(fabric_->run(job_->proxies()), RunEnd::kIdle);
    EXPECT_TRUE(fabric_->streams_drained());
  }
  void expect_ok(const Pair& pair) {
    for (const auto& work : {pair.sent, pair.received}) {
      ASSERT_TRUE(work->status().has_value());
      EXPECT_TRUE(work->status()->ok()) << to_string(*work->status());
    }
    EXPECT_FALSE(first_difference(fabric_->bytes(pair.target), 5).has_value());
  }
  static Status ended(const std::shared_ptr<Work>& work) {
    EXPECT_TRUE(work->status().has_value());
    return work->status().value_or(Status());
  }

  std::unique_ptr<IdealFabric> fabric_;
  std::unique_ptr<Job> job_;
};

TEST_F(IdealFaultsTest, AFailedWriteNamesItsNicsAndChunk) {
  IdealFaults faults;
  faults.write_fails = [](Rank, const WriteRequest& request) {
    return request.tag.operation.source == 0 && request.tag.chunk == 7;
  };
  start(faults);
  const Pair broken = transfer(0, 5);
  const Pair whole = transfer(2, 6);
  run();
  // Symmetric partners: GPU 0 sends over NIC 1, GPU 5 receives over NIC 4; rank 1 hosts NIC 1.
  for (const auto& work : {broken.sent, broken.received}) {
    const Status status = ended(work);
    EXPECT_EQ(status.cause, Cause::kLinkError);
    EXPECT_EQ(status.rank, Rank(1));
    EXPECT_EQ(status.peer, Rank(4));
    EXPECT_EQ(status.link, "nic 1 -> nic 4");
    EXPECT_EQ(status.flow, FlowId(0));
    EXPECT_EQ(status.chunk, 7);
  }
  expect_ok(whole);
  EXPECT_TRUE(job_->quiescent());
  EXPECT_EQ(fabric_->unfinished(), "");
}

TEST_F(IdealFaultsTest, AFailedWriteBetweenUserBuffersNamesItsNicsAndChunk) {
  IdealFaults faults;
  faults.write_fails = [](Rank, const WriteRequest& request) {
    return request.tag.operation.source == 0 && request.tag.chunk == 7;
  };
  start(faults, Forwarding::kOwnNic);
  const Pair broken = transfer(0, 5);
  const Pair whole = transfer(2, 6);
  run();
  for (const auto& work : {broken.sent, broken.received}) {
    const Status status = ended(work);
    EXPECT_EQ(status.cause, Cause::kLinkError);
    EXPECT_EQ(status.rank, Rank(0));
    EXPECT_EQ(status.peer, Rank(5));
    EXPECT_EQ(status.link, "nic 0 -> nic 5");
    EXPECT_EQ(status.chunk, 7);
  }
  expect_ok(whole);
  EXPECT_TRUE(job_->quiescent());
  EXPECT_EQ(fabric_->unfinished(), "");
}

TEST_F(IdealFaultsTest, ABufferThatCannotBeRegisteredFailsBothEnds) {
  for (const int owner : {0, 5}) {
    IdealFaults faults;
    faults.register_fails = [owner](BufferHandle buffer) { return buffer.owner == Rank(owner); };
    start(faults, Forwarding::kOwnNic);
    const Pair broken = transfer(0, 5);
    const Pair whole = transfer(2, 6);
    run();
    for (const auto& work : {broken.sent, broken.received}) {
      const Status status = ended(work);
      EXPECT_EQ(status.cause, Cause::kCopyError);
      EXPECT_EQ(status.rank, Rank(owner));
      EXPECT_EQ(status.peer, Rank(owner == 0 ? 5 : 0));
      EXPECT_EQ(status.link, "buffer registration");
    }
    expect_ok(whole);
    EXPECT_TRUE(job_->quiescent());
  }
}

TEST_F(IdealFaultsTest, AFailedCopyNamesItsEngineAndChunk) {
  for (const Leg leg : {Leg::kStageIn, Leg::kDeliver, Leg::kDirect}) {
    IdealFaults faults;
    faults.copy_fails = [leg](Rank, const CopyRequest& request) {
      return request.leg == leg && request.tag.chunk == 3 && request.tag.operation.source == 0;
    };
    start(faults);
    const Pair broken = transfer(0, leg == Leg::kDirect ? 1 : 5);
    const Pair whole = transfer(2, 6);
    run();
    const int source = 0;
    const int target = leg == Leg::kDirect ? 1 : 5;
    // A target that fails after the source has let go does not fail the source.
    const Status status = ended(leg == Leg::kDeliver ? broken.received : broken.sent);
    EXPECT_EQ(status.cause, Cause::kCopyError);
    EXPECT_EQ(status.rank, Rank(leg == Leg::kDeliver ? target : source));
    EXPECT_EQ(status.peer, Rank(leg == Leg::kDeliver ? source : target));
    EXPECT_NE(status.link, "");
    EXPECT_EQ(status.chunk, 3);
    EXPECT_FALSE(ended(broken.received).ok());
    expect_ok(whole);
    EXPECT_TRUE(job_->quiescent());
  }
}

TEST_F(IdealFaultsTest, MemoryThatCannotBeExportedIsNamedWhereNoThirdGpuIs) {
  IdealFaults faults;
  faults.export_fails = [](BufferHandle buffer) { return buffer.owner == Rank(1); };
  start(faults, Forwarding::kSymmetric, "h800-2x2");
  const Pair broken = transfer(0, 1);
  const Pair staged = transfer(2, 1);
  run();
  const Status status = ended(broken.received);
  EXPECT_EQ(status.cause, Cause::kCopyError);
  EXPECT_EQ(status.rank, Rank(1));
  EXPECT_EQ(status.peer, Rank(0));
  EXPECT_EQ(status.link, "buffer export");
  EXPECT_FALSE(ended(broken.sent).ok());
  expect_ok(staged);
}

TEST_F(IdealFaultsTest, ALostPeerEndsItsOperationsWhenItIsReported) {
  IdealFaults faults;
  faults.detection_delay = Seconds(1e-3);
  start(faults);
  const Pair to_dead = transfer(0, 5);
  const Pair from_dead = transfer(5, 1);
  const Pair whole = transfer(2, 6);
  fabric_->kill(Rank(5), 15_us);
  run();
  for (const auto& work : {to_dead.sent, from_dead.received}) {
    const Status status = ended(work);
    EXPECT_EQ(status.cause, Cause::kPeerLost);
    EXPECT_EQ(status.peer, Rank(5));
    EXPECT_NE(status.link, "");
    EXPECT_EQ(status.flow, FlowId(0));
    EXPECT_GE(status.chunk, 0);
  }
  expect_ok(whole);
  EXPECT_LT(fabric_->now(), kTimeout);
}

TEST_F(IdealFaultsTest, ALostRelayEndsTheOperationsThatItCarries) {
  IdealFaults faults;
  faults.detection_delay = Seconds(1e-3);
  start(faults);
  const Pair relayed = transfer(0, 5);  // over the place of GPU 1
  const Pair whole = transfer(2, 6);
  fabric_->kill(Rank(1), 15_us);
  run();
  EXPECT_EQ(ended(relayed.sent).cause, Cause::kPeerLost);
  EXPECT_EQ(ended(relayed.received).cause, Cause::kPeerLost);
  EXPECT_EQ(ended(relayed.sent).peer, Rank(1));
  EXPECT_EQ(ended(relayed.received).peer, Rank(1));
  expect_ok(whole);
}

TEST_F(IdealFaultsTest, ASilentPeerEndsInATimeout) {
  IdealFaults faults;
  faults.detection_delay = Seconds(-1.0);
  start(faults);
  const Pair staged = transfer(0, 5);
  const Pair whole = transfer(2, 6);
  fabric_->kill(Rank(5), 15_us);
  run();
  const Status status = ended(staged.sent);
  EXPECT_EQ(status.cause, Cause::kTimeout);
  EXPECT_EQ(status.rank, Rank(0));
  EXPECT_EQ(status.peer, Rank(5));
  EXPECT_EQ(status.link, "nic 1 -> nic 4");
  EXPECT_GE(status.chunk, 0);
  EXPECT_LE(fabric_->now(), kTimeout * 2.1);
  expect_ok(whole);
}

TEST_F(IdealFaultsTest, APeerThatNeverCallsEndsInATimeout) {
  start({});
  const Region buffer{fabric_->allocate(Rank(0), kMessage), Bytes(0), kMessage};
  for (const int target : {1, 5}) {
    const auto work = job_->communicator(Rank(0)).send(buffer, Rank(target), StreamId(target));
    run();
    const Status status = ended(work);
    EXPECT_EQ(status.cause, Cause::kTimeout);
    EXPECT_EQ(status.peer, Rank(target));
    EXPECT_EQ(status.chunk, 0);
    EXPECT_NE(status.link, "");
  }
  EXPECT_LE(fabric_->now(), 2 * kTimeout * 1.1);
}

TEST_F(IdealFaultsTest, AnAbortEndsBothSides) {
  start({});
  const Pair staged = transfer(0, 5);
  const Pair whole = transfer(2, 6);
  fabric_->at(15_us, [this] { job_->communicator(Rank(0)).abort(); });
  run();
  EXPECT_EQ(ended(staged.sent).cause, Cause::kAborted);
  EXPECT_EQ(ended(staged.received).cause, Cause::kAborted);
  EXPECT_EQ(ended(staged.received).rank, Rank(0));
  expect_ok(whole);
  EXPECT_TRUE(job_->quiescent());
}

}  // namespace
}  // namespace hoccl::engine
