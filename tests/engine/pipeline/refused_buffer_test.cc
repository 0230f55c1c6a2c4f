// Receive buffers that cannot be exported, or not be imported: what would be pushed into them goes
// through slots of a third place of the node.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/byte_pattern.h"
#include "tests/support/pattern_run.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::HasSubstr;

constexpr Bytes kChunk = 4_KiB;
constexpr Bytes kMessage = kChunk * 24;

enum class Refusal : std::uint8_t { kExport, kImport, kSome };

struct Setting {
  std::string name;
  Refusal refusal = Refusal::kExport;
  int slots = 1;
  Timing timing = Timing::kAdversarial;
  bool barrier = false;
  bool overlap = true;
};

IdealFaults faults_of(Refusal refusal) {
  IdealFaults faults;
  switch (refusal) {
    case Refusal::kExport:
      faults.export_fails = [](BufferHandle) { return true; };
      break;
    case Refusal::kImport:
      faults.import_fails = [](Rank, BufferHandle) { return true; };
      break;
    case Refusal::kSome:  // so that a rank has flows of either kind
      faults.export_fails = [](BufferHandle buffer) { return buffer.owner.value() % 2 == 1; };
      faults.import_fails = [](Rank rank, BufferHandle) { return rank.value() % 3 == 1; };
      break;
  }
  return faults;
}

class RefusedBuffers : public testing::TestWithParam<Setting> {
 protected:
  static IdealOptions fabric_options() {
    IdealOptions options;
    options.timing = GetParam().timing;
    options.slot_size = kChunk;
    options.send_slots = GetParam().slots;
    options.receive_slots = GetParam().slots;
    options.faults = faults_of(GetParam().refusal);
    options.time_limit = Seconds(20.0);
    return options;
  }
  static PipelineOptions pipeline_options() {
    PipelineOptions options;
    options.barrier = GetParam().barrier;
    options.overlap = GetParam().overlap;
    options.timeout = Seconds(1.0);
    return options;
  }

  /// IdealFabric lets nobody write into what he has not imported.
  static void expect_right(const Topology& topology, const std::string& name, Algorithm algorithm) {
    PatternRun run(topology, fabric_options(), pipeline_options());
    PatternRequest request{name, Rank(0), Rank(1), kMessage};
    const Pattern pattern = make_pattern(request, topology.rank_count());
    CompileOptions options;
    options.chunk_size = kChunk;
    options.algorithm = algorithm;
    const Plans plans = {std::make_shared<const Plan>(compile(pattern, topology, options))};
    // The second finds its peers busy with the first, at one stream; on the other, beside it.
    run.enqueue(pattern, plans, StreamId(0));
    run.enqueue(pattern, plans, StreamId(0));
    run.enqueue(pattern, plans, StreamId(1));
    run.run();
    EXPECT_EQ(run.wrong(), "") << name << ", " << to_string(algorithm);
  }
};

TEST_P(RefusedBuffers, GetTheirBytesWithinANode) {
  const Topology topology = resolve_topology("h800-1x4");
  for (const char* name : {"sendrecv", "allgather", "alltoall", "broadcast", "gather", "scatter"}) {
    expect_right(topology, name, Algorithm::kMulticast);
    expect_right(topology, name, Algorithm::kP2p);
  }
}

/// Dependent direct legs: a peer passes on what it has pulled itself.
TEST_P(RefusedBuffers, GetWhatIsPassedOnBetweenNodes) {
  const Topology topology = resolve_topology("h800-2x4");
  for (const char* name : {"allgather", "broadcast"}) {
    expect_right(topology, name, Algorithm::kMulticast);
    expect_right(topology, name, Algorithm::kRing);
  }
  expect_right(topology, "alltoall", Algorithm::kMulticast);
}

TEST_P(RefusedBuffers, GetTheirBytesThroughHostMemory) {
  TopologyDescription description = resolve_topology("h800-2x2").description();
  description.staging = StagingKind::kHost;
  expect_right(Topology(description), "allgather", Algorithm::kMulticast);
  expect_right(Topology(description), "alltoall", Algorithm::kMulticast);
}

std::string setting_name(const testing::TestParamInfo<Setting>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    All, RefusedBuffers,
    testing::Values(
        Setting{"ExportOneSlot"}, Setting{"ImportOneSlot", Refusal::kImport},
        Setting{"SomeThreeSlots", Refusal::kSome, 3},
        Setting{"ExportClosedForm", Refusal::kExport, 16, Timing::kClosedForm},
        Setting{"ImportClosedForm", Refusal::kImport, 16, Timing::kClosedForm},
        Setting{"SomeBarrier", Refusal::kSome, 2, Timing::kAdversarial, true},
        Setting{"ExportNoOverlap", Refusal::kExport, 1, Timing::kAdversarial, false, false},
        Setting{"SomeBarrierNoOverlap", Refusal::kSome, 2, Timing::kAdversarial, true, false}),
    setting_name);

/// One message after the other between two ranks of a node.
class RefusedBuffer : public testing::Test {
 protected:
  void start(const IdealFaults& faults, const std::string& topology = "h800-1x4",
             Bytes slot_size = kChunk) {
    IdealOptions options;
    options.slot_size = slot_size;
    options.slots_are_read = false;
    options.faults = faults;
    fabric_ = std::make_unique<IdealFabric>(resolve_topology(topology), options);
    PipelineOptions pipeline;
    pipeline.timeout = Seconds(0.5);
    CompileOptions compile;
    compile.chunk_size = kChunk;
    job_ = std::make_unique<Job>(*fabric_, fabric_->topology().rank_count(), pipeline, compile);
    sent_ = buffer(0);
    received_ = buffer(1);
    fill_pattern(fabric_->bytes(sent_), 5);
  }
  Region buffer(int rank) { return {fabric_->allocate(Rank(rank), kMessage), Bytes(0), kMessage}; }

  struct Works {
    std::shared_ptr<Work> sent;
    std::shared_ptr<Work> received;
  };
  Works transfer(const Region& target) {
    fabric_->reset_written(target.buffer);
    return {job_->communicator(Rank(0)).send(sent_, Rank(1), StreamId(0)),
            job_->communicator(Rank(1)).receive(target, Rank(0), StreamId(0))};
  }
  void run() {
    EXPECT_EQ(fabric_->run(job_->proxies()), RunEnd::kIdle);
    EXPECT_TRUE(fabric_->streams_drained());
    EXPECT_EQ(fabric_->unfinished(), "");
  }
  void expect_ok(const Works& works, const Region& target) {
    for (const auto& work : {works.sent, works.received}) {
      ASSERT_TRUE(work->status().has_value());
      EXPECT_TRUE(work->status()->ok()) << to_string(*work->status());
    }
    EXPECT_FALSE(first_difference(fabric_->bytes(target), 5).has_value());
  }
  static void expect_failed(const Works& works, Cause cause, Rank peer, const std::string& link) {
    for (const auto& work : {works.sent, works.received}) {
      ASSERT_TRUE(work->status().has_value());
      const Status status = *work->status();
      EXPECT_EQ(status.cause, cause);
      EXPECT_EQ(status.peer, peer);
      EXPECT_THAT(status.link, HasSubstr(link));
    }
  }

  std::unique_ptr<IdealFabric> fabric_;
  std::unique_ptr<Job> job_;
  Region sent_;
  Region received_;
};

TEST_F(RefusedBuffer, IsAskedForOnce) {
  int exports = 0;
  int imports = 0;
  IdealFaults faults;
  faults.export_fails = [&](BufferHandle buffer) {
    exports += 1;
    return buffer == received_.buffer;
  };
  faults.import_fails = [&](Rank, BufferHandle) {
    imports += 1;
    return true;
  };
  start(faults);
  const Region other = buffer(1);
  for (int round = 1; round <= 3; ++round) {
    for (const Region& target : {received_, other}) {
      const Works works = transfer(target);
      run();
      expect_ok(works, target);
    }
  }
  EXPECT_EQ(exports, 2);
  EXPECT_EQ(imports, 1);
  EXPECT_TRUE(job_->quiescent());
}

/// The source sends A on one stream and B on another; the target, on one stream, receives B first.
TEST_F(RefusedBuffer, DoesNotLetCrossedOperationsWaitForEachOther) {
  for (const Refusal refusal : {Refusal::kExport, Refusal::kImport}) {
    start(faults_of(refusal));
    const Region other = buffer(1);
    Works a;
    Works b;
    a.sent = job_->communicator(Rank(0), 1).send(sent_, Rank(1), StreamId(0));
    b.sent = job_->communicator(Rank(0), 2).send(sent_, Rank(1), StreamId(1));
    b.received = job_->communicator(Rank(1), 2).receive(other, Rank(0), StreamId(0));
    a.received = job_->communicator(Rank(1), 1).receive(received_, Rank(0), StreamId(0));
    run();
    expect_ok(a, received_);
    expect_ok(b, other);
    EXPECT_TRUE(job_->quiescent());
  }
}

TEST_F(RefusedBuffer, FailsBothEndsWhereThereIsNoThirdPlace) {
  struct Case {
    Refusal refusal;
    std::string topology;
    Bytes slot_size;
    int seen_by;
    std::string link;
  };
  for (const Case& each :
       {Case{Refusal::kExport, "h800-1x2", kChunk, 1, "buffer export"},
        Case{Refusal::kImport, "h800-1x2", kChunk, 0, "buffer import"},
        Case{Refusal::kExport, "h800-1x4", kChunk - Bytes(1), 1, "buffer export"}}) {
    start(faults_of(each.refusal), each.topology, each.slot_size);
    for (int round = 0; round < 2; ++round) {  // what is remembered fails at once
      const Works works = transfer(received_);
      run();
      expect_failed(works, Cause::kCopyError, Rank(1 - each.seen_by), each.link);
      EXPECT_EQ(works.sent->status()->rank, Rank(each.seen_by));
    }
    EXPECT_TRUE(job_->quiescent());
  }
}

TEST_F(RefusedBuffer, FailsBothEndsWhenItsRelayIsLost) {
  for (const Refusal refusal : {Refusal::kExport, Refusal::kImport}) {
    IdealFaults faults = faults_of(refusal);
    faults.detection_delay = 1_ms;
    start(faults);
    fabric_->kill(Rank(2), 40_us);  // 0 -> 1 goes through its place
    const Works works = transfer(received_);
    run();
    expect_failed(works, Cause::kPeerLost, Rank(2), "copy engine");
    EXPECT_LT(fabric_->now(), Seconds(0.1));
    for (const int rank : {0, 1, 3}) EXPECT_TRUE(job_->proxy(Rank(rank)).quiescent()) << rank;
    // A later one finds out at once.
    const Works later = transfer(received_);
    run();
    expect_failed(later, Cause::kPeerLost, Rank(2), "copy engine");
    EXPECT_LT(fabric_->now(), Seconds(0.1));
  }
}

TEST_F(RefusedBuffer, GivesItsSlotsBackWhenACopyFails) {
  for (const Leg leg : {Leg::kStageIn, Leg::kDeliver}) {
    for (const Refusal refusal : {Refusal::kExport, Refusal::kImport}) {
      IdealFaults faults = faults_of(refusal);
      faults.copy_fails = [leg](Rank, const CopyRequest& request) {
        return request.leg == leg && request.tag.chunk == 7;
      };
      start(faults);
      const Works works = transfer(received_);
      run();
      EXPECT_EQ(works.received->status()->cause, Cause::kCopyError);
      EXPECT_EQ(works.received->status()->chunk, 7);
      EXPECT_TRUE(job_->quiescent());
    }
  }
}

TEST_F(RefusedBuffer, IsSeenInWhatProxiesSay) {
  start(faults_of(Refusal::kImport));
  std::string sender;
  std::string receiver;
  for (int i = 0; i < 60; ++i) {
    fabric_->at(1_us * i, [&] {
      sender += job_->proxy(Rank(0)).describe();
      receiver += job_->proxy(Rank(1)).describe();
    });
  }
  const Works works = transfer(received_);
  run();
  expect_ok(works, received_);
  EXPECT_THAT(sender, HasSubstr("sends flow 0 to rank 1, by place 2 instead of direct: "));
  EXPECT_THAT(receiver, HasSubstr("receives flow 0 from rank 0, by place 2 instead of direct: "));
}

}  // namespace
}  // namespace hoccl::engine
