#include "engine/schedule/rail_balance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/base/random.h"
#include "engine/schedule/rail_spread.h"

namespace hoccl::engine {
namespace {

using namespace literals;

/// One NIC next to each of `gpus` GPUs on either node.
std::vector<RailEnds> rails(int gpus) {
  std::vector<RailEnds> result;
  for (int i = 0; i < gpus; ++i) result.push_back({i, 100 + i});
  return result;
}

RailDemand demand(int source, int target, Bytes size, int gpus) {
  return {.size = size,
          .source_gpu = source,
          .target_gpu = 100 + target,
          .preferred = preferred_rail(source, target, gpus, 1)};
}

struct Outcome {
  std::vector<std::int64_t> loads;
  std::size_t pieces = 0;

  [[nodiscard]] std::int64_t fullest() const { return *std::ranges::max_element(loads); }
};

/// Fills, and checks that every demand is there once, on rails that it may use, in whole chunks.
Outcome filled(const std::vector<RailDemand>& demands, const std::vector<RailEnds>& ends,
               Bytes chunk, int most = 0) {
  RailBalance balance;
  balance.fill(demands, ends, chunk, most);
  Outcome outcome{.loads = std::vector<std::int64_t>(ends.size(), 0)};
  for (std::size_t i = 0; i < demands.size(); ++i) {
    Bytes end(0);
    std::size_t pieces = 0;
    for (const RailBalance::Piece& piece : balance.pieces_of(i)) {
      EXPECT_EQ(piece.offset, end);
      EXPECT_EQ(piece.offset % chunk, 0_B);
      EXPECT_GT(piece.size, 0_B);
      EXPECT_TRUE(may_use(demands[i], ends[static_cast<std::size_t>(piece.rail)]));
      outcome.loads[static_cast<std::size_t>(piece.rail)] += piece.size.count();
      end += piece.size;
      ++pieces;
    }
    EXPECT_EQ(end, demands[i].size);
    if (most > 0) {
      EXPECT_LE(pieces, static_cast<std::size_t>(most));
    }
    outcome.pieces += pieces;
  }
  return outcome;
}

TEST(RailBalance, EqualFlowsBetweenAllRanksComeOutEvenWithoutBeingSplit) {
  for (const int gpus : {3, 4, 5, 8, 16}) {
    for (const Bytes size : {1_KiB, 2_MiB, 64_MiB + 5_B}) {
      std::vector<RailDemand> demands;
      for (int source = 0; source < gpus; ++source) {
        for (int target = 0; target < gpus; ++target) {
          demands.push_back(demand(source, target, size, gpus));
        }
      }
      const Outcome outcome = filled(demands, rails(gpus), 2_MiB);
      EXPECT_EQ(outcome.pieces, demands.size()) << gpus;
      for (const std::int64_t load : outcome.loads) EXPECT_EQ(load, gpus * size.count());
    }
  }
}

TEST(RailBalance, OneFlowUsesEveryRailThatItMay) {
  const Outcome outcome = filled({demand(0, 3, 60_MiB, 8)}, rails(8), 1_MiB);
  EXPECT_EQ(outcome.pieces, 6U);
  EXPECT_EQ(outcome.fullest(), (10_MiB).count());
  EXPECT_EQ(outcome.loads[0], 0);
  EXPECT_EQ(outcome.loads[3], 0);
}

TEST(RailBalance, AHotReceiverLeavesItsRailToOthers) {
  // Rank 2 gets 70 of 80 MiB: its rail can carry only the rest.
  std::vector<RailDemand> demands;
  for (int source = 3; source < 8; ++source) demands.push_back(demand(source, 2, 14_MiB, 8));
  demands.push_back(demand(3, 4, 10_MiB, 8));
  const Outcome outcome = filled(demands, rails(8), 1_MiB);
  EXPECT_LE(outcome.fullest(), (11_MiB).count());
  EXPECT_GE(outcome.loads[2], (9_MiB).count());
}

TEST(RailBalance, ReachesTheLowestLevelToWithinAChunkOnRandomTiles) {
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    const auto gpus = static_cast<int>(random.between(3, 8));
    const std::int64_t scale = random.between(1, 40);
    std::vector<RailDemand> demands;
    for (int source = 0; source < gpus; ++source) {
      for (int target = 0; target < gpus; ++target) {
        if (random.chance(0.3)) continue;
        const std::int64_t skew = random.chance(0.1) ? 10 : 1;
        demands.push_back(
            demand(source, target, Bytes(random.between(1, skew * scale << 20)), gpus));
      }
    }
    const Outcome outcome = filled(demands, rails(gpus), 1_MiB);
    // No rail can be below the mean, a flow's share of its own rails, or that of all flows that
    // may not use some rail.
    std::int64_t level = 0;
    std::int64_t total = 0;
    std::vector<std::int64_t> shunning(static_cast<std::size_t>(gpus), 0);
    std::vector<std::vector<std::int64_t>> both(
        static_cast<std::size_t>(gpus), std::vector<std::int64_t>(static_cast<std::size_t>(gpus)));
    for (const RailDemand& each : demands) {
      const auto source = static_cast<std::size_t>(each.source_gpu);
      const auto target = static_cast<std::size_t>(each.target_gpu - 100);
      total += each.size.count();
      shunning[source] += each.size.count();
      if (source != target) shunning[target] += each.size.count();
      both[std::min(source, target)][std::max(source, target)] += each.size.count();
    }
    level = total / gpus;
    for (const std::int64_t size : shunning) level = std::max(level, size / (gpus - 1));
    for (std::size_t i = 0; i < both.size(); ++i) {
      for (std::size_t j = i + 1; j < both.size(); ++j) {
        level = std::max(level, both[i][j] / (gpus - 2));
      }
    }
    EXPECT_LE(outcome.fullest(), level + (2_MiB).count()) << "round " << round;
    EXPECT_LE(outcome.pieces, demands.size() + 3 * static_cast<std::size_t>(gpus));
  }
}

TEST(RailBalance, KeepsToTheMostRailsPerFlow) {
  for (const int most : {1, 2, 4}) {
    const Outcome outcome = filled({demand(0, 3, 48_MiB, 8)}, rails(8), 1_MiB, most);
    EXPECT_EQ(outcome.pieces, static_cast<std::size_t>(most));
    EXPECT_EQ(outcome.fullest(), (48_MiB).count() / most);
  }
}

TEST(RailBalance, HugeFlowsOfTinyChunksTakeNoLonger) {
  std::vector<RailDemand> demands = {demand(0, 0, Bytes(std::int64_t{1} << 50), 8),
                                     demand(1, 0, 3_B, 8)};
  const Outcome outcome = filled(demands, rails(8), 1_B);
  EXPECT_LE(outcome.fullest(), (std::int64_t{1} << 50) / 7 + 8);
}

TEST(RailBalance, HostSlotsRuleOutNoRail) {
  const std::vector<RailEnds> ends(4, RailEnds{kNoGpu, kNoGpu});
  const Outcome outcome = filled({demand(0, 0, 8_MiB, 4)}, ends, 1_MiB);
  EXPECT_EQ(outcome.fullest(), (2_MiB).count());
}

}  // namespace
}  // namespace hoccl::engine
