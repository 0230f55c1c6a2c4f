#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/metrics.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/share.h"
#include "tests/engine/pattern/delivery.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using Delivered = std::map<Place, Place>;

/// Calls check(ranks, size, in_place) for few ranks and sizes below, at and above them.
template <class Check>
void for_small_cases(Check check) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (int size = 0; size <= 13; ++size) {
      for (const bool in_place : {false, true}) check(ranks, size, in_place);
    }
  }
}

/// The rank whose share of `size` bytes holds byte `at`, by definition of the shares.
int owner(int ranks, std::int64_t size, std::int64_t at) {
  int rank = 0;
  while (size * (rank + 1) / ranks <= at) ++rank;
  return rank;
}

/// The byte of its share that byte `at` is.
std::int64_t within_share(int ranks, std::int64_t size, std::int64_t at) {
  return at - size * owner(ranks, size, at) / ranks;
}

TEST(Share, SplitsTheLargestMessageWithoutOverflowOrLoss) {
  for (const std::int64_t size : {std::int64_t{1} << 50, (std::int64_t{1} << 50) - 1}) {
    for (const int count : {1, 7, kMaxRanks}) {
      EXPECT_EQ(share_begin(Bytes(size), count, count), Bytes(size));
      const std::int64_t each = size / count;
      for (int index = 0; index < count; index += 1 + count / 100) {
        const std::int64_t share = share_size(Bytes(size), count, index).count();
        EXPECT_TRUE(share == each || share == each + 1) << share;
      }
    }
  }
}

TEST(AllGather, BringsEveryShareToEveryRank) {
  for_small_cases([](int ranks, int size, bool in_place) {
    Delivered expected;
    for (int target = 0; target < ranks; ++target) {
      for (int at = 0; at < size; ++at) {
        const int source = owner(ranks, size, at);
        if (in_place && source == target) continue;
        expected[{Rank(target), at}] = {Rank(source), within_share(ranks, size, at)};
      }
    }
    EXPECT_EQ(delivered(all_gather(ranks, Bytes(size), in_place)), expected);
  });
}

TEST(AllGather, IsOneMulticastPerRank) {
  const Pattern pattern = all_gather(16, 1_GiB, true);
  ASSERT_EQ(pattern.flows.size(), 16U);
  for (const Flow& flow : pattern.flows) {
    EXPECT_EQ(targets_of(flow).size(), 15U);
    EXPECT_EQ(flow.size, 1_GiB / 16);
  }
  // Out of place, every rank's own copy is a flow beside the multicast.
  EXPECT_EQ(all_gather(16, 1_GiB, false).flows.size(), 32U);
}

TEST(AllToAll, BringsBlockOfEveryRankToItsTarget) {
  for_small_cases([](int ranks, int size, bool in_place) {
    Delivered expected;
    for (int source = 0; source < ranks; ++source) {
      for (int at = 0; at < size; ++at) {
        const int target = owner(ranks, size, at);
        if (in_place && source == target) continue;
        const std::int64_t begin = std::int64_t{size} * target / ranks;
        const std::int64_t block = std::int64_t{size} * (target + 1) / ranks - begin;
        expected[{Rank(target), source * block + at - begin}] = {Rank(source), at};
      }
    }
    EXPECT_EQ(delivered(all_to_all(ranks, Bytes(size), in_place)), expected);
  });
}

TEST(Broadcast, BringsTheRootsBufferToEveryRank) {
  for_small_cases([](int ranks, int size, bool in_place) {
    for (int root = 0; root < ranks; ++root) {
      Delivered expected;
      for (int target = 0; target < ranks; ++target) {
        if (in_place && target == root) continue;
        for (int at = 0; at < size; ++at) expected[{Rank(target), at}] = {Rank(root), at};
      }
      EXPECT_EQ(delivered(broadcast(ranks, Rank(root), Bytes(size), in_place)), expected);
    }
  });
}

TEST(Gather, BringsEveryShareToTheRootAndScatterBringsItBack) {
  for_small_cases([](int ranks, int size, bool in_place) {
    for (int root = 0; root < ranks; ++root) {
      Delivered gathered;
      Delivered scattered;
      for (int at = 0; at < size; ++at) {
        const int rank = owner(ranks, size, at);
        if (in_place && rank == root) continue;
        gathered[{Rank(root), at}] = {Rank(rank), within_share(ranks, size, at)};
        scattered[{Rank(rank), within_share(ranks, size, at)}] = {Rank(root), at};
      }
      EXPECT_EQ(delivered(gather(ranks, Rank(root), Bytes(size), in_place)), gathered);
      EXPECT_EQ(delivered(scatter(ranks, Rank(root), Bytes(size), in_place)), scattered);
    }
  });
}

TEST(Collectives, CountTheMessageAndItsBusBandwidthAsNcclTests) {
  const std::vector<Pattern> without_own_share = {
      all_gather(8, 1_GiB, false), all_to_all(8, 1_GiB, false), gather(8, Rank(0), 1_GiB, false),
      scatter(8, Rank(0), 1_GiB, false)};
  for (const Pattern& pattern : without_own_share) {
    EXPECT_EQ(pattern.message_size, 1_GiB);
    EXPECT_FALSE(pattern.size_meaning.empty());
    EXPECT_DOUBLE_EQ(pattern.busbw_factor, 7.0 / 8.0);
  }
  EXPECT_DOUBLE_EQ(broadcast(8, Rank(0), 1_GiB, false).busbw_factor, 1.0);
}

TEST(Collectives, OfOneRankIsItsOwnCopyOrNothing) {
  const Flow own{.source = Rank(0),
                 .target = Rank(0),
                 .source_offset = 0_B,
                 .target_offset = 0_B,
                 .size = 5_B};
  const auto all = [](bool in_place) {
    return std::vector<Pattern>{all_gather(1, 5_B, in_place), all_to_all(1, 5_B, in_place),
                                broadcast(1, Rank(0), 5_B, in_place),
                                gather(1, Rank(0), 5_B, in_place),
                                scatter(1, Rank(0), 5_B, in_place)};
  };
  for (const Pattern& pattern : all(false)) EXPECT_EQ(pattern.flows, std::vector<Flow>{own});
  for (const Pattern& pattern : all(true)) EXPECT_TRUE(pattern.flows.empty()) << pattern.name;
}

TEST(Collectives, CarryTenTerabytesAndThePebibyte) {
  for (const Bytes size : {Bytes(10'000'000'000'000), kMaxMessageSize}) {
    Bytes arrived(0);
    for (const Flow& flow : all_to_all(1024, size, false).flows) {
      if (flow.source == Rank(1)) arrived += flow.size;
      EXPECT_LE(flow.target_offset + flow.size, size + Bytes(1024));
    }
    EXPECT_EQ(arrived, size);
    const Pattern pattern = all_gather(1024, size, true);
    EXPECT_EQ(pattern.flows.back().target_offset + pattern.flows.back().size, size);
  }
}

TEST(Collectives, RefuseRanksRootsAndSizesOutOfRange) {
  EXPECT_EQ(refusal([] { all_gather(0, 1_B, false); }),
            "pattern allgather: ranks = 0: expected 1 to 4096");
  EXPECT_EQ(refusal([] { all_to_all(4097, 1_B, false); }),
            "pattern alltoall: ranks = 4097: expected 1 to 4096");
  EXPECT_EQ(refusal([] { broadcast(4, Rank(4), 1_B, false); }),
            "pattern broadcast: root = 4: expected a rank from 0 to 3");
  EXPECT_EQ(refusal([] { gather(4, Rank(-1), 1_B, false); }),
            "pattern gather: root = -1: expected a rank from 0 to 3");
  EXPECT_EQ(refusal([] { scatter(4, Rank(0), kMaxMessageSize + 1_B, false); }),
            "pattern scatter: size = 1125899906842625: expected 0 to 1125899906842624 bytes");
}

}  // namespace
}  // namespace hoccl::engine
