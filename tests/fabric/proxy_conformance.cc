// What a job of real proxies does over a fabric.

#include <vector>

#include "tests/fabric/conformance.h"
#include "tests/support/job.h"

namespace hoccl::engine {
namespace {

using namespace literals;

/// One message between two ranks, and how to see that it came.
struct Sent {
  Region target;
  std::uint64_t message = 0;
  std::shared_ptr<Work> sent;
  std::shared_ptr<Work> received;
};

class Scenario {
 public:
  Scenario(const FabricFactory& factory, const FabricSettings& settings,
           const CompileOptions& compile)
      : fabric_(factory.make(settings)),
        job_(fabric_->fabric(), settings.ranks, PipelineOptions(), compile) {}

  Region source(int rank, Bytes size, std::uint64_t message) {
    const Region region = target(rank, size);
    fabric_->fill(region, message);
    return region;
  }
  Region target(int rank, Bytes size) {
    return {fabric_->allocate(Rank(rank), size), Bytes(0), size};
  }

  void transfer(int source_rank, int target_rank, Bytes size, int source_stream = 0,
                int target_stream = 0) {
    Sent transfer;
    transfer.message = ++messages_;
    transfer.target = target(target_rank, size);
    transfer.sent = job_.communicator(Rank(source_rank))
                        .send(source(source_rank, size, transfer.message), Rank(target_rank),
                              StreamId(source_stream));
    transfer.received = job_.communicator(Rank(target_rank))
                            .receive(transfer.target, Rank(source_rank), StreamId(target_stream));
    transfers_.push_back(std::move(transfer));
  }

  /// Source and target disagree about the size.
  void mismatch(int source_rank, int target_rank, Bytes sent_size, Bytes received_size) {
    const auto sent = job_.communicator(Rank(source_rank))
                          .send(source(source_rank, sent_size, 1), Rank(target_rank), StreamId(0));
    const auto received =
        job_.communicator(Rank(target_rank))
            .receive(target(target_rank, received_size), Rank(source_rank), StreamId(0));
    fabric_->run(job_.proxies());
    const auto expect_mismatch = [](const Work& work, Bytes size) {
      ASSERT_TRUE(work.status().has_value());
      const Cause cause = work.status()->cause;
      // An empty side has nothing to wait for: it may be through before it could know.
      const bool may_be_ok = size == Bytes(0);
      EXPECT_TRUE(cause == Cause::kSizeMismatch || (may_be_ok && cause == Cause::kNone))
          << to_string(*work.status());
    };
    expect_mismatch(*sent, sent_size);
    expect_mismatch(*received, received_size);
    EXPECT_TRUE(job_.quiescent());
  }

  /// Runs to the end and checks every transfer.
  void finish() {
    fabric_->run(job_.proxies());
    for (const Sent& transfer : transfers_) {
      expect_ok(transfer.sent);
      expect_ok(transfer.received);
      EXPECT_TRUE(fabric_->holds(transfer.target, transfer.message)) << transfer.message;
    }
    EXPECT_TRUE(job_.quiescent());
  }

  static void expect_ok(const std::shared_ptr<Work>& work) {
    ASSERT_TRUE(work->status().has_value());
    EXPECT_TRUE(work->status()->ok()) << to_string(*work->status());
  }

  Job& job() { return job_; }
  FabricUnderTest& fabric() { return *fabric_; }

 private:
  std::unique_ptr<FabricUnderTest> fabric_;
  Job job_;
  std::vector<Sent> transfers_;
  std::uint64_t messages_ = 0;
};

CompileOptions small_chunks(int rails = 1) {
  CompileOptions options;
  options.chunk_size = 4_KiB;
  options.rails = rails;
  return options;
}

TEST_P(ProxyConformance, SendsWithinANode) {
  Scenario scenario(GetParam(), {}, small_chunks());
  scenario.transfer(0, 3, 64_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsBetweenNodes) {
  Scenario scenario(GetParam(), {}, small_chunks());
  scenario.transfer(0, 5, 64_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsSizesThatAreNoMultipleOfTheChunk) {
  Scenario scenario(GetParam(), {}, small_chunks());
  for (const Bytes size : {1_B, 4095_B, 4096_B, 4097_B, 10001_B}) {
    scenario.transfer(1, 2, size);
    scenario.transfer(1, 6, size);
  }
  scenario.finish();
}

TEST_P(ProxyConformance, RefusesDifferentSizesBetweenNodesOnBothSides) {
  Scenario(GetParam(), {}, small_chunks()).mismatch(0, 5, 64_KiB, 48_KiB);
}

TEST_P(ProxyConformance, RefusesDifferentSizesWithinANodeOnBothSides) {
  Scenario(GetParam(), {}, small_chunks()).mismatch(0, 1, 48_KiB, 64_KiB);
}

TEST_P(ProxyConformance, RefusesToReceiveWhereNothingIsSent) {
  Scenario(GetParam(), {}, small_chunks()).mismatch(0, 1, 0_B, 64_KiB);
}

TEST_P(ProxyConformance, RefusesToSendWhereNothingIsReceived) {
  Scenario(GetParam(), {}, small_chunks()).mismatch(0, 5, 64_KiB, 0_B);
}

TEST_P(ProxyConformance, SendsNothing) {
  Scenario scenario(GetParam(), {}, small_chunks());
  scenario.transfer(0, 1, 0_B);
  scenario.transfer(0, 4, 0_B);
  scenario.transfer(0, 4, 100_B);
  scenario.finish();
}

TEST_P(ProxyConformance, KeepsSeveralMessagesOfAStreamInFlight) {
  Scenario scenario(GetParam(), {}, small_chunks());
  for (int i = 0; i < 6; ++i) scenario.transfer(0, i % 2 == 0 ? 4 : 2, 20_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, RunsTwoStreamsAtOnce) {
  Scenario scenario(GetParam(), {}, small_chunks());
  for (int i = 0; i < 3; ++i) {
    scenario.transfer(0, 4, 20_KiB, 0, 0);
    scenario.transfer(0, 4, 20_KiB, 1, 1);
    scenario.transfer(4, 0, 20_KiB, 2, 2);
  }
  scenario.finish();
}

/// Rank 0 and `peer` send to and receive from each other in one group.
void exchange(const FabricFactory& factory, int peer) {
  Scenario scenario(factory, {}, small_chunks());
  std::vector<Region> received;
  std::vector<std::shared_ptr<Work>> works;
  for (const auto& [rank, other] : {std::pair(0, peer), std::pair(peer, 0)}) {
    Communicator& communicator = scenario.job().communicator(Rank(rank));
    received.push_back(scenario.target(rank, 50_KiB));
    const Region sent = scenario.source(rank, 50_KiB, 100U + static_cast<std::uint64_t>(rank));
    communicator.group_begin(StreamId(0));
    communicator.send(sent, Rank(other), StreamId(0));
    communicator.receive(received.back(), Rank(other), StreamId(0));
    works.push_back(communicator.group_end());
  }
  scenario.finish();
  for (const auto& work : works) Scenario::expect_ok(work);
  EXPECT_TRUE(scenario.fabric().holds(received[0], 100U + static_cast<std::uint64_t>(peer)));
  EXPECT_TRUE(scenario.fabric().holds(received[1], 100U));
}

// One fabric per case: some fabrics allow only one in a process.
TEST_P(ProxyConformance, ExchangesWithinANodeInOneGroup) { exchange(GetParam(), 1); }
TEST_P(ProxyConformance, ExchangesBetweenNodesInOneGroup) { exchange(GetParam(), 5); }

TEST_P(ProxyConformance, StripesOverFourRails) {
  FabricSettings settings;
  settings.topology = "h800-2x8";
  settings.ranks = 16;
  Scenario scenario(GetParam(), settings, small_chunks(4));
  scenario.transfer(0, 8, 200_KiB);
  scenario.transfer(13, 1, 77777_B);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsWithFewerRanksThanGpus) {
  FabricSettings settings;
  settings.ranks = 2;  // one per node: each hosts the places of all its node's GPUs
  Scenario scenario(GetParam(), settings, small_chunks());
  scenario.transfer(0, 1, 64_KiB);
  scenario.transfer(1, 0, 64_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsThroughHostMemoryOfASharedGpu) {
  FabricSettings settings;
  settings.topology = "h200-1x1";
  settings.ranks = 2;
  Scenario scenario(GetParam(), settings, small_chunks());
  scenario.transfer(0, 1, 64_KiB);
  scenario.transfer(1, 0, 30001_B);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsThroughASingleSlot) {
  FabricSettings settings;
  settings.send_slots = 1;
  settings.receive_slots = 1;
  Scenario scenario(GetParam(), settings, small_chunks());
  for (int i = 0; i < 3; ++i) {
    scenario.transfer(0, 4, 30_KiB);
    scenario.transfer(4, 0, 30_KiB);
    scenario.transfer(1, 4, 30_KiB, 0, 1);
  }
  scenario.finish();
}

}  // namespace
}  // namespace hoccl::engine
