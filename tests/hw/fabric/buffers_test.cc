// User buffers between ranks of a node: exchanged once, dropped when they go.

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {
namespace {

using engine::BufferHandle;
using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Status;
using engine::StreamId;

constexpr Bytes kSize(100000);

/// Mappings of user buffers in this process.
int buffer_mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:hoccl-buffer-") != std::string::npos) ++count;
  }
  return count;
}

class Buffers : public testing::Test {
 protected:
  Buffers() : ranks_(settings(), Living::kProcess) {}

  static JobSettings settings() {
    JobSettings settings{
        engine::preset_topology("h800-1x4").with_ranks(2), {}, {}, {}, /*proxies=*/true, {}};
    settings.compile.chunk_size = Bytes(4096);
    settings.options.slot_size = settings.compile.chunk_size;
    return settings;
  }

  /// Rank 0 sends into a buffer of rank 1; how that ended on rank 1.
  Status send(const Region& source, const Region& target) {
    ranks_.call(Rank(0), [source](RankUnderTest& rank) {
      rank.remember(rank.communicator(0).send(source, Rank(1), StreamId(0)));
    });
    const auto cause = ranks_.call(Rank(1), [target](RankUnderTest& rank) {
      const int work = rank.remember(rank.communicator(0).receive(target, Rank(0), StreamId(0)));
      rank.fabric().synchronize(StreamId(0));
      return rank.status(work)->cause;
    });
    ranks_.call(Rank(0), [](RankUnderTest& rank) { rank.fabric().synchronize(StreamId(0)); });
    Status status;
    status.cause = cause;
    return status;
  }
  void release(Rank owner, BufferHandle buffer) {
    ranks_.call(owner, [buffer](RankUnderTest& rank) { rank.fabric().release(buffer); });
  }
  int mappings(Rank rank) {
    return ranks_.call(rank, [](RankUnderTest&) { return buffer_mappings(); });
  }

  HwRanks ranks_;
};

TEST_F(Buffers, AreMappedOnceHoweverOftenTheyAreUsed) {
  const Region source{ranks_.allocate(Rank(0), kSize), Bytes(0), kSize};
  const Region target{ranks_.allocate(Rank(1), kSize), Bytes(0), kSize};
  ranks_.fill(source, 5);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(send(source, target).ok());
  EXPECT_TRUE(ranks_.holds(target, 5));
  EXPECT_EQ(mappings(Rank(0)), 2) << "its own and the target's";
  EXPECT_EQ(mappings(Rank(1)), 1) << "its own";
}

TEST_F(Buffers, LeaveNoMappingWhenTheyAreReleased) {
  const Region source{ranks_.allocate(Rank(0), kSize), Bytes(0), kSize};
  for (std::uint64_t message = 1; message <= 3; ++message) {
    const Region target{ranks_.allocate(Rank(1), kSize), Bytes(0), kSize};
    ranks_.fill(source, message);
    EXPECT_TRUE(send(source, target).ok());
    EXPECT_TRUE(ranks_.holds(target, message));
    release(Rank(1), target.buffer);
    EXPECT_TRUE(HwRanks::settle([&] { return mappings(Rank(0)) == 1; }, engine::Seconds(10.0)));
    EXPECT_EQ(mappings(Rank(1)), 0);
  }
}

/// As tensors that a framework cuts from one allocation.
TEST_F(Buffers, PartsOfOneAllocationShareItsMapping) {
  const Region source{ranks_.allocate(Rank(0), kSize), Bytes(0), kSize};
  const BufferHandle whole = ranks_.allocate(Rank(1), kSize + kSize + kSize);
  ranks_.fill(source, 9);
  for (std::int64_t part = 0; part < 3; ++part) {
    const auto buffer = ranks_.call(Rank(1), [whole, part](RankUnderTest& rank) {
      return rank.fabric().register_buffer(rank.fabric().bytes({whole, kSize * part, kSize}));
    });
    const Region target{buffer, Bytes(0), kSize};
    EXPECT_TRUE(send(source, target).ok());
    EXPECT_TRUE(ranks_.holds(target, 9));
  }
  EXPECT_EQ(mappings(Rank(0)), 2);
  release(Rank(1), whole);
  EXPECT_EQ(mappings(Rank(1)), 1) << "its parts still have names";
}

}  // namespace
}  // namespace hoccl::hw
