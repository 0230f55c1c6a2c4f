// Receive buffers in memory that no other process can map: within a node their bytes come through
// slots of a third GPU.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {
namespace {

using engine::BufferHandle;
using engine::Bytes;
using engine::Cause;
using engine::Rank;
using engine::Region;
using engine::SendRecvRequest;
using engine::Status;
using engine::StreamId;
using engine::WorkReference;

constexpr Bytes kChunk(4096);
/// Of one rank.
constexpr Bytes kShare(kChunk.count() * 40 + 123);
constexpr int kMaxRanks = 4;

JobSettings settings(const std::string& topology) {
  JobSettings settings{engine::preset_topology(topology), {}, {}, {}, /*proxies=*/true, {}};
  settings.compile.chunk_size = kChunk;
  settings.options.slot_size = kChunk;
  settings.options.slots = 4;
  return settings;
}

class ForeignMemory : public testing::TestWithParam<Living> {
 protected:
  void start(const std::string& topology) {
    job_ = std::make_unique<HwJob>(settings(topology), GetParam());
  }
  /// Memory that the fabric has not allocated.
  Region foreign(Rank owner, Bytes size) {
    const auto buffer = job_->ranks().call(owner, [owner, size](RankUnderTest& rank) {
      static std::array<std::vector<std::byte>, kMaxRanks> memory;
      memory.at(owner.index()).assign(static_cast<std::size_t>(size.count()), std::byte{0});
      return rank.fabric().register_buffer(memory.at(owner.index()));
    });
    return {buffer, Bytes(0), size};
  }
  Region filled(Rank owner, std::uint64_t message) {
    const Region region{job_->allocate(owner, kShare), Bytes(0), kShare};
    job_->fill(region, message);
    return region;
  }
  std::pair<WorkReference, WorkReference> send(const Region& from, const Region& to) {
    const Rank source = from.buffer.owner;
    const Rank target = to.buffer.owner;
    return {job_->enqueue(source, 0, {{SendRecvRequest::Side::kSend, target, from}}, StreamId(0)),
            job_->enqueue(target, 0, {{SendRecvRequest::Side::kReceive, source, to}}, StreamId(0))};
  }
  /// How it ended.
  Status ended(const WorkReference& work) {
    const auto status = job_->status(work);
    EXPECT_TRUE(status.has_value());
    return status.value_or(Status());
  }

  std::unique_ptr<HwJob> job_;
};

TEST_P(ForeignMemory, ReceivesFromAPeerOfItsNode) {
  start("h800-1x3");
  const Region source = filled(Rank(0), 1);
  const Region other = filled(Rank(2), 2);
  const Region target = foreign(Rank(1), kShare);
  const Region back = foreign(Rank(0), kShare);
  const auto there = send(source, target);
  const auto crossing = send(other, back);
  job_->run();
  for (const auto& [sent, received] : {there, crossing}) {
    EXPECT_TRUE(ended(sent).ok()) << to_string(ended(sent));
    EXPECT_TRUE(ended(received).ok()) << to_string(ended(received));
  }
  EXPECT_TRUE(job_->holds(target, 1));
  EXPECT_TRUE(job_->holds(back, 2));
  EXPECT_TRUE(job_->quiescent());
}

TEST_P(ForeignMemory, GathersFromAllRanks) {
  start("h800-1x4");
  std::vector<WorkReference> works;
  std::vector<Region> gathered;
  for (int i = 0; i < 4; ++i) {
    const Rank rank(i);
    const Region share = filled(rank, static_cast<std::uint64_t>(i) + 1);
    gathered.push_back(foreign(rank, kShare * 4));
    const auto enqueue = [share, all = gathered.back()](RankUnderTest& here) {
      return here.remember(
          here.communicator(0).all_gather(all.size, false, share, all, StreamId(0)));
    };
    works.push_back({rank, job_->ranks().call(rank, enqueue)});
  }
  job_->run();
  for (const WorkReference& work : works) EXPECT_TRUE(ended(work).ok()) << to_string(ended(work));
  for (const Region& all : gathered) {
    for (int i = 0; i < 4; ++i) {
      const Region share{all.buffer, kShare * i, kShare};
      EXPECT_TRUE(job_->holds(share, static_cast<std::uint64_t>(i) + 1))
          << "share " << i << " at rank " << all.buffer.owner.value();
    }
  }
  EXPECT_TRUE(job_->quiescent());
}

TEST_P(ForeignMemory, EndsInAReadableErrorWhereNoThirdGpuIs) {
  start("h800-1x2");
  const auto [sent, received] = send(filled(Rank(0), 1), foreign(Rank(1), kShare));
  job_->run();
  const std::string text =
      "copy error: operation 0:0->1#0, seen by rank 1, peer rank 0, link buffer export, flow 0, "
      "chunk 0";
  EXPECT_EQ(to_string(ended(sent)), text);
  EXPECT_EQ(to_string(ended(received)), text);
  EXPECT_TRUE(job_->quiescent());
}

INSTANTIATE_TEST_SUITE_P(Ranks, ForeignMemory, testing::Values(Living::kProcess, Living::kThread),
                         [](const auto& living) {
                           return living.param == Living::kThread ? "OnThreads" : "InProcesses";
                         });

}  // namespace
}  // namespace hoccl::hw
