#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <tuple>
#include <vector>

#include "engine/schedule/bounds.h"
#include "engine/trace/csv_writer.h"
#include "engine/trace/perfetto_writer.h"
#include "tests/sim/fabric/fixture.h"
#include "tests/support/job.h"
#include "tests/support/multicast_plan.h"

// The real proxies over the simulated machine.

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::Seconds;
using engine::StreamId;
using engine::TraceEvent;
using testing::Each;
using namespace engine::literals;

constexpr StreamId kStream{0};

class PipelineOnSim : public HandDriven {
 protected:
  void start_job(const std::string& topology, const std::vector<std::string>& settings = {},
                 int rails = 1) {
    start(topology, settings);
    engine::CompileOptions compile;
    compile.chunk_size = 2_MiB;
    compile.rails = rails;
    job_ = std::make_unique<engine::Job>(*fabric_, topology_->rank_count(),
                                         engine::PipelineOptions(), compile);
  }

  /// One message; returns the time from enqueueing to the end of the later stream.
  Seconds transfer(int source, int target, Bytes size) {
    const Seconds begin = fabric_->now();
    const engine::Region from{fabric_->allocate(Rank(source), size), 0_B, size};
    const engine::Region to{fabric_->allocate(Rank(target), size), 0_B, size};
    works_.push_back(job_->communicator(Rank(source)).send(from, Rank(target), kStream));
    works_.push_back(job_->communicator(Rank(target)).receive(to, Rank(source), kStream));
    fabric_->run(job_->proxies());
    return std::max(fabric_->stream_idle_since(Rank(source), kStream),
                    fabric_->stream_idle_since(Rank(target), kStream)) -
           begin;
  }

  void expect_all_ok() {
    for (const auto& work : works_) {
      ASSERT_TRUE(work->status().has_value());
      EXPECT_TRUE(work->status()->ok()) << engine::to_string(*work->status());
    }
    EXPECT_TRUE(job_->quiescent());
  }

  Bytes carried(std::string_view name) {
    for (const LinkUse& link : fabric_->link_use()) {
      if (link.name == name) return link.carried;
    }
    ADD_FAILURE() << "no link " << name;
    return {};
  }

  std::unique_ptr<engine::Job> job_;
  std::vector<std::shared_ptr<engine::Work>> works_;
};

TEST_F(PipelineOnSim, AMessageWithinANodeCrossesNvlinkOnce) {
  start_job("h800-1x8");
  constexpr Bytes kSize = 64_MiB;
  const Seconds time = transfer(0, 1, kSize);
  expect_all_ok();
  EXPECT_GE(time, kSize / nvlink_rate());
  EXPECT_LE(time, (kSize / nvlink_rate()) * 1.0 + 250_us);  // first use exports and imports
  EXPECT_EQ(carried("gpu 0 nvlink out"), kSize);
  EXPECT_EQ(carried("gpu 1 nvlink in"), kSize);
}

TEST_F(PipelineOnSim, AMessageBetweenNodesGoesThroughTheSymmetricGpus) {
  start_job("h800-2x8");
  constexpr Bytes kSize = 64_MiB;
  const Seconds time = transfer(0, 8, kSize);
  expect_all_ok();
  EXPECT_GE(time, kSize / nic_rate());
  EXPECT_LE(time, (kSize / nic_rate()) * 1.1);
  EXPECT_EQ(carried("gpu 1 nvlink in"), kSize);
  EXPECT_EQ(carried("nic 1 send"), kSize);
  EXPECT_EQ(carried("nic 9 receive"), kSize);
  EXPECT_EQ(carried("gpu 9 nvlink out"), kSize);
}

TEST_F(PipelineOnSim, EveryChunkIsStagedSentAndDeliveredInOrderOfItsLegs) {
  start_job("h800-2x8");
  constexpr Bytes kSize = 64_MiB;
  transfer(0, 8, kSize);
  expect_all_ok();
  std::map<std::int64_t, std::map<std::string, TraceEvent>> legs;
  for (const TraceEvent& event : trace_.events()) {
    if (event.flow.is_none()) continue;
    std::string leg(event.name);
    if (event.track.kind == engine::TrackKind::kNicReceive) leg += "_in";
    EXPECT_TRUE(legs[event.chunk].emplace(leg, event).second) << event.chunk << " " << leg;
  }
  EXPECT_EQ(std::ssize(legs), kSize / 2_MiB);
  for (auto& [chunk, of_chunk] : legs) {
    ASSERT_EQ(of_chunk.size(), 4U) << "chunk " << chunk;
    EXPECT_LE(of_chunk["stage_in"].end, of_chunk["wire"].begin);
    EXPECT_LE(of_chunk["wire"].begin, of_chunk["wire_in"].begin);
    EXPECT_LE(of_chunk["wire_in"].end, of_chunk["deliver"].begin);
    EXPECT_EQ(of_chunk["stage_in"].track.rank, Rank(0));
    EXPECT_EQ(of_chunk["deliver"].track.rank, Rank(8));
  }
  // The point of the pipeline: chunks are staged while others are on the wire.
  EXPECT_LT(legs[3]["stage_in"].begin, legs[0]["wire"].end);
}

TEST_F(PipelineOnSim, RailsAddUp) {
  start_job("h800-2x8", {}, 4);
  constexpr Bytes kSize = 256_MiB;
  const Seconds time = transfer(0, 8, kSize);
  expect_all_ok();
  EXPECT_GE(kSize / time, nic_rate() * 3.0);
}

TEST_F(PipelineOnSim, AMulticastCrossesTheWireOnceAndNvlinkOncePerTarget) {
  start_job("h800-2x8");
  constexpr Bytes kSize = 128_MiB;
  const std::vector<Rank> targets = {Rank(8), Rank(10), Rank(11)};
  const auto plan = std::make_shared<const engine::Plan>(
      engine::multicast_plan(*topology_, Rank(0), targets, kSize, {.chunk_size = 2_MiB}));
  const Seconds begin = fabric_->now();
  for (int i = 0; i < topology_->rank_count(); ++i) {
    const Rank rank(i);
    const engine::Region buffer{fabric_->allocate(rank, kSize), 0_B, kSize};
    works_.push_back(job_->communicator(rank).run(plan, buffer, buffer, kStream));
  }
  fabric_->run(job_->proxies());
  expect_all_ok();
  Seconds time{0.0};
  for (const Rank target : targets) {
    time = std::max(time, fabric_->stream_idle_since(target, kStream) - begin);
    EXPECT_EQ(carried(fmt::format("gpu {} nvlink in", target)), kSize);
  }
  EXPECT_EQ(carried("nic 1 send"), kSize);
  EXPECT_EQ(carried("nic 9 receive"), kSize);
  EXPECT_EQ(carried("gpu 9 nvlink out"), kSize * 3);
  const Seconds bound = engine::plan_bound(*plan, *topology_, constants_.rates(*topology_)).time;
  EXPECT_GE(time, bound);
  EXPECT_LE(time, bound * 1.1);
}

TEST_F(PipelineOnSim, ASingleDeviceGoesThroughHostMemory) {
  start_job("h200-1x1");
  constexpr Bytes kSize = 256_MiB;
  const Seconds time = transfer(0, 1, kSize);
  expect_all_ok();
  EXPECT_GE(time, kSize / topology_->pcie().duplex_each);
  EXPECT_LE(time, (kSize / topology_->pcie().duplex_each) * 1.1);
  EXPECT_EQ(carried("gpu 0 pcie to host"), kSize);
  EXPECT_EQ(carried("gpu 0 pcie from host"), kSize);
}

TEST_F(PipelineOnSim, TheStreamWaitsForTheTransferBeforeItsNextKernel) {
  start_job("h800-1x8");
  const Seconds time = transfer(0, 1, 4_MiB);
  fabric_->enqueue_kernel(Rank(1), kStream, 100_us);
  fabric_->run();
  EXPECT_GE(fabric_->stream_idle_since(Rank(1), kStream), time + 100_us);
}

TEST_F(PipelineOnSim, ABrokenNicEndsTheTransferWithItsName) {
  start_job("h800-2x8");
  fabric_->fail_writes(engine::NicId(1), 500_us);
  transfer(0, 8, 256_MiB);
  for (const auto& work : works_) {
    ASSERT_TRUE(work->status().has_value());
    EXPECT_EQ(work->status()->cause, engine::Cause::kLinkError);
    EXPECT_EQ(work->status()->link, "nic 1 -> nic 9");
  }
  EXPECT_LT(fabric_->now(), Seconds(2.0));
}

TEST_F(PipelineOnSim, RepetitionGivesTheSameTraceByteForByte) {
  // One simulation per process, so the second run is a later transfer: after a warm-up both start
  // from the same state, and the trace is compared without its absolute times.
  start_job("h800-2x8");
  transfer(0, 8, 16_MiB);
  std::vector<std::string> texts;
  for (int run = 0; run < 2; ++run) {
    trace_.clear();
    const Seconds begin = fabric_->now();
    transfer(0, 8, 16_MiB);
    std::vector<TraceEvent> shifted(trace_.events().begin(), trace_.events().end());
    for (TraceEvent& event : shifted) {
      event.begin -= begin;
      event.end -= begin;
      event.operation.number = 0;
    }
    std::ostringstream text;
    write_trace_csv(text, shifted);
    texts.push_back(text.str());
  }
  EXPECT_EQ(texts[0], texts[1]);
}

}  // namespace
}  // namespace hoccl::sim
