// What a proxy says about itself when somebody asks, and when an operation is stuck.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/communicator.h"
#include "engine/pipeline/proxy.h"
#include "tests/support/ideal_fabric.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr Bytes kChunk = 4_KiB;
constexpr Bytes kMessage = kChunk * 16;

class DescribeTest : public testing::Test {
 protected:
  DescribeTest() {
    PipelineOptions pipeline;
    pipeline.timeout = Seconds(0.5);
    for (int i = 0; i < fabric_.topology().rank_count(); ++i) {
      Port& port = fabric_.port(Rank(i));
      proxies_.push_back(std::make_unique<Proxy>(
          port, pipeline, [this, i](const std::string& dump) { stalled(Rank(i), dump); }));
      pointers_.push_back(proxies_.back().get());
      communicators_.push_back(std::make_unique<Communicator>(
          port, std::uint16_t{0}, CompileOptions{.chunk_size = kChunk, .rails = 1}));
    }
  }

  static IdealOptions options() {
    IdealOptions result;
    result.slot_size = kChunk;
    result.slots_are_read = false;
    return result;
  }

  Communicator& communicator(int rank) { return *communicators_[static_cast<std::size_t>(rank)]; }
  std::string describe(int rank) { return proxies_[static_cast<std::size_t>(rank)]->describe(); }
  Region buffer(int rank) { return {fabric_.allocate(Rank(rank), kMessage), Bytes(0), kMessage}; }
  void run() { EXPECT_EQ(fabric_.run(pointers_), RunEnd::kIdle); }

  struct Stall {
    Rank rank;
    std::string dump;
    bool ended = false;  ///< when it was reported
  };
  void stalled(Rank rank, const std::string& dump) {
    stalls_.push_back({rank, dump, watched_ != nullptr && watched_->status().has_value()});
  }

  IdealFabric fabric_{resolve_topology("h800-2x4"), options()};
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::vector<Proxy*> pointers_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::shared_ptr<Work> watched_;
  std::vector<Stall> stalls_;
};

TEST_F(DescribeTest, AnIdleProxyHasNothingToSay) {
  run();
  EXPECT_EQ(describe(0), "proxy of rank 0 at 0.000000 s\n0 operations unfinished\n");
}

TEST_F(DescribeTest, AStuckOperationIsDumpedOnceBeforeItIsEnded) {
  watched_ = communicator(0).send(buffer(0), Rank(4), StreamId(2));
  run();
  ASSERT_EQ(stalls_.size(), 1U);
  EXPECT_EQ(stalls_[0].rank, Rank(0));
  EXPECT_FALSE(stalls_[0].ended);
  EXPECT_EQ(watched_->status()->cause, Cause::kTimeout);
  EXPECT_EQ(stalls_[0].dump,
            R"(operation 0:0->4#0 made no progress for 0.5 s
proxy of rank 0 at 0.500000 s
1 operations unfinished
operation 0:0->4#0: started, announced to its sources, last progress 0.500000 s ago, 0 copies and writes in flight
  sends flow 0 to rank 4, nic 1 -> nic 5: 0 of 16 chunks copied, 0 posted, 0 slots held, not admitted: waits for rank 4
gate of communicator 0 stream 2: reached 1, opened 0, 1 groups open
  group 1: started, 1 of 1 operations unfinished
)");
}

TEST_F(DescribeTest, EveryPartOfATransferUnderWayIsSeen) {
  // Everything that is said while chunks go through all their states, by rank.
  std::vector<std::string> dumps(8);
  communicator(0).send(buffer(0), Rank(4), StreamId(0));
  communicator(4).receive(buffer(4), Rank(0), StreamId(0));
  for (int microsecond = 0; microsecond < 40; ++microsecond) {
    fabric_.at(Seconds(1e-6 * microsecond), [&] {
      for (int rank : {0, 1, 4, 5}) dumps[static_cast<std::size_t>(rank)] += describe(rank);
    });
  }
  run();
  EXPECT_TRUE(stalls_.empty());
  EXPECT_THAT(dumps[0], AllOf(HasSubstr("sends flow 0 to rank 4, nic 1 -> nic 5: "),
                              HasSubstr("lease open"), HasSubstr("peer copy engine: ")));
  EXPECT_THAT(dumps[1], AllOf(HasSubstr("lease of operation 0:0->4#0 flow 0, nic 1 -> nic 5, from "
                                        "rank 0 to rank 4: "),
                              HasSubstr("link nic 1 -> nic 5: "),
                              HasSubstr("writes in flight per queue pair: "),
                              HasSubstr("send slots of place 1: "), HasSubstr(": dma_copying, "),
                              HasSubstr(": rnic_in_flight, operation 0:0->4#0 flow 0 chunk ")));
  EXPECT_THAT(dumps[4], HasSubstr("receives flow 0 from rank 0, nic 1 -> nic 5: "));
  EXPECT_THAT(dumps[5], AllOf(HasSubstr("demand of nic 1 -> nic 5, from rank 1: "),
                              HasSubstr("receive slots of place 5: "),
                              HasSubstr(": credited, promised to nic 1"),
                              HasSubstr(": delivering, operation 0:0->4#0 flow 0 chunk ")));
  // When all is over, only the number of idle slots is mentioned.
  EXPECT_THAT(describe(1),
              AllOf(HasSubstr("send slots of place 1: 8 of 8 idle"), Not(HasSubstr("lease of")),
                    Not(HasSubstr("link nic")), Not(HasSubstr("  slot "))));
  EXPECT_THAT(describe(5), Not(HasSubstr("demand")));
}

TEST_F(DescribeTest, BackgroundThatIsHeldBackIsNamed) {
  Plan plan = compile(make_pattern({"sendrecv", Rank(0), Rank(1), kMessage}, 8), fabric_.topology(),
                      {.chunk_size = kChunk, .rails = 1});
  plan.transfers[0].flow_class = FlowClass::kBackground;
  const auto shared = std::make_shared<const Plan>(plan);
  fabric_.port(Rank(0)).enqueue_foreground(StreamId(1), true);
  fabric_.enqueue_delay(Rank(0), StreamId(1), 2_ms);
  fabric_.port(Rank(0)).enqueue_foreground(StreamId(1), false);
  communicator(0).run(shared, buffer(0), {}, StreamId(0));
  communicator(1).run(shared, {}, buffer(1), StreamId(0));
  std::string dump;
  fabric_.at(1_ms, [&] { dump = describe(0); });
  run();
  EXPECT_THAT(dump, AllOf(HasSubstr("waiting: foreground 0 delivers and 0 flows, background 0 "
                                    "delivers and 1 flows, held back for 0.000"),
                          HasSubstr("by foreground work")));
}

}  // namespace
}  // namespace hoccl::engine
