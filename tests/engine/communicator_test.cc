// The calls of the public API on a fabric that moves real bytes: every call brings what its pattern
// says, on all ranks and on some.

#include "engine/communicator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/rank_share.h"
#include "engine/traffic.h"
#include "tests/support/byte_pattern.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr Bytes kChunk = 1_KiB;
/// Odd, so that shares differ, and several chunks for every pair of eight ranks.
constexpr Bytes kSize = Bytes(80001);
const StreamId kStream(0);

CompileOptions compile_options() {
  CompileOptions options;
  options.chunk_size = kChunk;
  options.forwarding = Forwarding::kBalanced;
  return options;
}

IdealOptions fabric_options() {
  IdealOptions options;
  options.timing = Timing::kAdversarial;
  options.seed = 5;
  options.slot_size = kChunk;
  options.send_slots = 4;
  options.receive_slots = 4;
  return options;
}

struct Call {
  std::string pattern;
  bool in_place = false;
  std::vector<Rank> group = {};
  bool all_counts_known = false;
};

/// One call by all ranks of its group on `h800-2x4`.
class CalledJob {
 public:
  explicit CalledJob(const Call& call)
      : call_(call),
        fabric_(resolve_topology("h800-2x4"), fabric_options()),
        job_(fabric_, fabric_.topology().rank_count(), {}, compile_options()),
        caches_(std::make_shared<PlanCaches>(fabric_.topology(), fabric_.topology().rank_count())) {
    traffic_.request.name = call.pattern;
    traffic_.request.root = Rank(1);
    traffic_.request.in_place = call.in_place;
    traffic_.request.matrix = MatrixKind::kZipf;
    traffic_.request.group = call.group;
    const int ranks = fabric_.topology().rank_count();
    flows_ = pattern_of(traffic_, kSize, ranks).flows;
    const std::vector<BufferSizes> sizes = buffer_sizes_by_rank(flows_, ranks);
    for (int number = 0; number < ranks; ++number) {
      const Rank rank(number);
      buffers_.push_back(
          {allocate(rank, sizes[rank.index()].send), allocate(rank, sizes[rank.index()].receive)});
      if (const Region& send = buffers_.back().send; send.size > 0_B) {
        fill_pattern(fabric_.bytes(send), static_cast<std::uint64_t>(number));
      }
    }
  }

  void run() {
    for (const Rank rank : members_of(traffic_, fabric_.topology().rank_count())) {
      communicators_.push_back(std::make_unique<Communicator>(
          fabric_.port(rank), std::uint16_t{3}, compile_options(), caches_, call_.group));
      works_.push_back(enqueue(*communicators_.back(), buffers_[rank.index()]));
    }
    EXPECT_EQ(fabric_.run(job_.proxies()), RunEnd::kIdle);
    for (const auto& work : works_) {
      ASSERT_TRUE(work->status().has_value());
      EXPECT_TRUE(work->status()->ok()) << to_string(*work->status());
    }
    EXPECT_TRUE(job_.quiescent());
  }

  void expect_bytes() {
    EXPECT_FALSE(flows_.empty());
    for (const Flow& flow : flows_) {
      for (const Rank target : targets_of(flow)) {
        const auto sent = bytes(buffers_[flow.source.index()].send, flow.source_offset, flow.size);
        const auto received =
            bytes(buffers_[target.index()].receive, flow.target_offset, flow.size);
        EXPECT_TRUE(std::ranges::equal(sent, received))
            << fmt::format("{} to {}", flow.source, target);
      }
    }
  }

 private:
  struct Buffers {
    Region send;
    Region receive;
  };

  Region allocate(Rank rank, Bytes size) {
    if (size == 0_B) return {};
    return {fabric_.allocate(rank, size), 0_B, size};
  }
  std::span<std::byte> bytes(const Region& buffer, Bytes offset, Bytes size) {
    return fabric_.bytes(Region{buffer.buffer, buffer.offset + offset, size});
  }

  std::shared_ptr<Work> enqueue(Communicator& communicator, const Buffers& buffers) {
    const auto& [send, receive] = buffers;
    const Rank root = traffic_.request.root;
    const bool in_place = call_.in_place;
    if (call_.pattern == "allgather") {
      return communicator.all_gather(kSize, in_place, send, receive, kStream);
    }
    if (call_.pattern == "alltoall") {
      return communicator.all_to_all(kSize, in_place, send, receive, kStream);
    }
    if (call_.pattern == "alltoallv") {
      const auto matrix = matrix_of(traffic_, kSize, fabric_.topology().rank_count());
      if (call_.all_counts_known) {
        return communicator.all_to_all_v(matrix, in_place, send, receive, kStream);
      }
      const auto row = matrix->row(communicator.rank().value());
      return communicator.all_to_all_v(std::vector<std::int64_t>(row.begin(), row.end()), in_place,
                                       send, receive, kStream);
    }
    if (call_.pattern == "broadcast") {
      return communicator.broadcast(kSize, root, in_place, send, receive, kStream);
    }
    if (call_.pattern == "gather") {
      return communicator.gather(kSize, root, in_place, send, receive, kStream);
    }
    return communicator.scatter(kSize, root, in_place, send, receive, kStream);
  }

  Call call_;
  IdealFabric fabric_;
  Job job_;
  std::shared_ptr<PlanCaches> caches_;
  Traffic traffic_;
  std::vector<Flow> flows_;
  std::vector<Buffers> buffers_;  // by rank
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<std::shared_ptr<Work>> works_;
};

class Communicators : public testing::TestWithParam<std::string> {};

TEST_P(Communicators, BringWhatThePatternSays) {
  for (const bool in_place : {false, true}) {
    CalledJob job({.pattern = GetParam(), .in_place = in_place});
    job.run();
    job.expect_bytes();
  }
}

TEST_P(Communicators, DoSoAmongSomeRanksOfTheJob) {
  // Two on one node, one on the other.
  CalledJob job({.pattern = GetParam(), .in_place = false, .group = {Rank(1), Rank(2), Rank(6)}});
  job.run();
  job.expect_bytes();
}

TEST(AllToAllV, NeedsNoExchangeWhereAllKnowAllCounts) {
  CalledJob job({.pattern = "alltoallv", .group = {Rank(1), Rank(6)}, .all_counts_known = true});
  job.run();
  job.expect_bytes();
}

INSTANTIATE_TEST_SUITE_P(Patterns, Communicators,
                         testing::Values("allgather", "alltoall", "alltoallv", "broadcast",
                                         "gather", "scatter"));

class CommunicatorOfSome : public testing::Test {
 protected:
  std::unique_ptr<Communicator> communicator(Rank rank, std::vector<Rank> group) {
    return std::make_unique<Communicator>(fabric_.port(rank), std::uint16_t{1}, compile_options(),
                                          caches_, std::move(group));
  }

  IdealFabric fabric_{resolve_topology("h800-1x4"), fabric_options()};
  std::shared_ptr<PlanCaches> caches_ = std::make_shared<PlanCaches>(fabric_.topology());
};

TEST_F(CommunicatorOfSome, CountsItsOwnRanks) {
  const auto some = communicator(Rank(3), {Rank(1), Rank(3)});
  EXPECT_EQ(some->rank(), Rank(1));
  EXPECT_EQ(some->size(), 2);
  const auto all = communicator(Rank(3), {});
  EXPECT_EQ(all->rank(), Rank(3));
  EXPECT_EQ(all->size(), 4);
}

TEST_F(CommunicatorOfSome, RefusesABadGroup) {
  EXPECT_THROW(communicator(Rank(0), {Rank(1), Rank(2)}), ConfigError);
  EXPECT_THROW(communicator(Rank(1), {Rank(2), Rank(1)}), ConfigError);
  EXPECT_THROW(communicator(Rank(1), {Rank(1), Rank(1)}), ConfigError);
  EXPECT_THROW(communicator(Rank(1), {Rank(1), Rank(4)}), ConfigError);
}

TEST_F(CommunicatorOfSome, RefusesABufferThatIsTooSmallAndAPeerThatIsNone) {
  const auto some = communicator(Rank(1), {Rank(1), Rank(3)});
  const Region small{fabric_.allocate(Rank(1), 10_B), 0_B, 10_B};
  EXPECT_THROW(some->all_gather(40_B, true, small, small, kStream), ConfigError);
  EXPECT_THROW(some->send(small, Rank(2), kStream), ConfigError);
  EXPECT_THROW(some->all_to_all_v(std::vector<std::int64_t>{1, 2, 3}, true, small, small, kStream),
               ConfigError);
}

}  // namespace
}  // namespace hoccl::engine
