#include "engine/pattern/traffic_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/pattern/alltoall.h"
#include "engine/pattern/apportion.h"
#include "engine/pattern/metrics.h"
#include "engine/pattern/moe_routing.h"
#include "engine/pattern/request_check.h"
#include "tests/engine/pattern/delivery.h"

namespace hoccl::engine {
namespace {

using namespace literals;

double skew_of_targets(const TrafficMatrix& matrix) {
  return static_cast<double>(matrix.colwise().sum().maxCoeff()) *
         static_cast<double>(matrix.cols()) / static_cast<double>(matrix.sum());
}

/// FNV-1a over the entries.
std::uint64_t hash_of(const TrafficMatrix& matrix) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::int64_t size : matrix.reshaped<Eigen::RowMajor>()) {
    hash = (hash ^ static_cast<std::uint64_t>(size)) * 0x100000001b3ULL;
  }
  return hash;
}

double harmonic(int count) {
  double sum = 0;
  for (int k = 1; k <= count; ++k) sum += 1.0 / k;
  return sum;
}

TEST(Apportion, AddsUpToTheTotalAndStaysWithinOneOfTheProportion) {
  const std::vector<std::int64_t> weights = {3, 0, 1, 5, 0};
  for (const std::int64_t total : {0, 1, 5, 9, 1000}) {
    const std::vector<std::int64_t> parts = apportion(weights, total);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(parts[i]), static_cast<double>(weights[i] * total) / 9.0,
                  1.0);
      sum += parts[i];
    }
    EXPECT_EQ(sum, total);
    EXPECT_EQ(parts[1], 0);
    EXPECT_EQ(parts[4], 0);
  }
  EXPECT_EQ(apportion(weights, 9), weights);
}

TEST(MatrixKind, ParsesWhatItPrintsAndListsTheKindsOtherwise) {
  for (const MatrixKind kind : matrix_kinds()) EXPECT_EQ(parse_matrix_kind(to_string(kind)), kind);
  EXPECT_EQ(refusal([] { parse_matrix_kind("zip"); }),
            "matrix = 'zip': expected one of: uniform, random, zipf, zipf-source, sparse, moe");
}

TEST(DrawMatrix, KeepsTheMeanOfEveryKindAndHasNothingBelowZero) {
  for (const MatrixKind kind : matrix_kinds()) {
    for (const int ranks : {1, 2, 3, 16, 61}) {
      for (const Bytes mean : {0_B, 1_B, 1000_B, 1_MiB + 1_B, Bytes(10'000'000'000'000)}) {
        const TrafficMatrix matrix = draw_matrix(kind, ranks, mean, 5);
        EXPECT_GE(matrix.minCoeff(), 0);
        const Bytes total = mean * ranks;
        if (kind != MatrixKind::kMoe) {
          EXPECT_EQ(Bytes(matrix.sum()), total) << to_string(kind) << " of " << ranks;
        } else if (total >= kTokenSize) {
          EXPECT_EQ(Bytes(matrix.sum()), total - total % kTokenSize) << ranks;
        } else {
          EXPECT_EQ(Bytes(matrix.sum()), mean == 0_B ? 0_B : kTokenSize) << ranks;
        }
      }
    }
  }
}

TEST(DrawMatrix, DependsOnTheSeedAndOnNothingElse) {
  for (const MatrixKind kind : matrix_kinds()) {
    const TrafficMatrix first = draw_matrix(kind, 16, 1_GiB, 1);
    EXPECT_EQ(draw_matrix(kind, 16, 1_GiB, 1), first);
    if (kind != MatrixKind::kUniform) {
      EXPECT_NE(draw_matrix(kind, 16, 1_GiB, 2), first) << to_string(kind);
    }
  }
}

// Not derived: what this generator draws, so that a result with a seed can be repeated anywhere.
TEST(DrawMatrix, DrawsTheSameOnEveryPlatform) {
  const std::map<MatrixKind, std::uint64_t> hashes = {
      {MatrixKind::kUniform, 13389757311613646629ULL},
      {MatrixKind::kRandom, 12351308650466761807ULL},
      {MatrixKind::kZipf, 8035318624594931749ULL},
      {MatrixKind::kZipfSource, 16719747872638386531ULL},
      {MatrixKind::kSparse, 13086836015958734767ULL},
      {MatrixKind::kMoe, 4556690005481752357ULL},
  };
  for (const MatrixKind kind : matrix_kinds()) {
    EXPECT_EQ(hash_of(draw_matrix(kind, 16, 1_GiB, 7)), hashes.at(kind)) << to_string(kind);
  }
}

TEST(DrawMatrix, UniformIsAlltoall) {
  for (const bool in_place : {false, true}) {
    const Pattern drawn = all_to_all_v(draw_matrix(MatrixKind::kUniform, 5, 103_B, 1), in_place);
    EXPECT_EQ(drawn.flows, all_to_all(5, 103_B, in_place).flows);
  }
}

TEST(DrawMatrix, RandomSpreadsPairsOverZeroToTwiceTheMean) {
  constexpr int kRanks = 64;
  const TrafficMatrix matrix = draw_matrix(MatrixKind::kRandom, kRanks, 64_MiB, 3);
  const double mean = static_cast<double>((64_MiB / kRanks).count());
  // 4096 draws: the extremes are within 1% of theirs, the scaling too.
  EXPECT_NEAR(static_cast<double>(matrix.maxCoeff()) / mean, 2.0, 0.04);
  EXPECT_LT(static_cast<double>(matrix.minCoeff()) / mean, 0.01);
}

TEST(DrawMatrix, ZipfSendsTheHarmonicShareToTheHottestTarget) {
  constexpr int kRanks = 16;
  const TrafficMatrix matrix = draw_matrix(MatrixKind::kZipf, kRanks, 1_GiB, 3);
  EXPECT_NEAR(skew_of_targets(matrix), kRanks / harmonic(kRanks), 1e-6);
  for (Eigen::Index source = 0; source < kRanks; ++source) {
    EXPECT_EQ(Bytes(matrix.row(source).sum()), 1_GiB);
    EXPECT_EQ(matrix.row(source), matrix.row(0));
  }
}

TEST(DrawMatrix, ZipfSourceHasAnotherHottestTargetForMostSources) {
  constexpr int kRanks = 16;
  const TrafficMatrix matrix = draw_matrix(MatrixKind::kZipfSource, kRanks, 1_GiB, 3);
  std::map<Eigen::Index, int> hottest;
  for (Eigen::Index source = 0; source < kRanks; ++source) {
    EXPECT_EQ(Bytes(matrix.row(source).sum()), 1_GiB);
    Eigen::Index target = 0;
    const std::int64_t most = matrix.row(source).maxCoeff(&target);
    EXPECT_NEAR(static_cast<double>(most), static_cast<double>((1_GiB).count()) / harmonic(kRanks),
                2);
    ++hottest[target];
  }
  EXPECT_GE(hottest.size(), std::size_t{kRanks} / 4);
  EXPECT_LT(skew_of_targets(matrix), kRanks / harmonic(kRanks) / 2);
}

TEST(DrawMatrix, SparseLetsAQuarterOfThePairsTalkAndNoRankIsSilent) {
  for (const int ranks : {2, 3, 64}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const TrafficMatrix matrix = draw_matrix(MatrixKind::kSparse, ranks, 1_GiB, seed);
      for (Eigen::Index source = 0; source < ranks; ++source) {
        EXPECT_GT(matrix.row(source).sum(), matrix(source, source)) << "rank " << source;
      }
      if (ranks < 64) continue;
      const double talking = static_cast<double>((matrix.array() > 0).count());
      // Four deviations of a binomial distribution: sqrt(4096 * 0.25 * 0.75) = 28 pairs.
      EXPECT_NEAR(talking, 1024, 4 * 28);
    }
  }
}

TEST(DrawMatrix, MoeSendsWholeTokensAndFavoursSomeRanks) {
  constexpr int kRanks = 64;
  const TrafficMatrix matrix = draw_matrix(MatrixKind::kMoe, kRanks, 256_MiB, 3);
  for (const std::int64_t size : matrix.reshaped()) EXPECT_EQ(size % kTokenSize.count(), 0);
  EXPECT_GT(skew_of_targets(matrix), 1.5);
  EXPECT_LT(skew_of_targets(matrix), 4.0);
  // Every rank routes equally many tokens; only how many experts share a rank differs.
  const double sent = static_cast<double>(matrix.rowwise().sum().maxCoeff());
  EXPECT_NEAR(sent / static_cast<double>((256_MiB).count()), 1.0, 0.02);
}

TEST(DrawMatrix, RefusesRanksAndSizesOutOfRange) {
  EXPECT_EQ(refusal([] { draw_matrix(MatrixKind::kZipf, 0, 1_B, 1); }),
            "pattern alltoallv: ranks = 0: expected 1 to 4096");
  EXPECT_THAT(refusal([] { draw_matrix(MatrixKind::kMoe, 2, Bytes(-1), 1); }),
              testing::StartsWith("pattern alltoallv: size = -1: expected 0 to"));
}

TEST(AllToAllV, LaysBlocksInTheOrderOfThePeers) {
  TrafficMatrix matrix(3, 3);
  matrix << 1, 2, 0,  //
      3, 4, 1,        //
      0, 2, 0;
  std::map<Place, Place> expected;
  for (int source = 0; source < 3; ++source) {
    for (int target = 0; target < 3; ++target) {
      const std::int64_t sent = matrix.row(source).head(target).sum();
      const std::int64_t received = matrix.col(target).head(source).sum();
      for (std::int64_t i = 0; i < matrix(source, target); ++i) {
        expected[{Rank(target), received + i}] = {Rank(source), sent + i};
      }
    }
  }
  EXPECT_EQ(delivered(all_to_all_v(matrix, false)), expected);
  std::erase_if(expected, [](const auto& item) { return item.first.first == item.second.first; });
  EXPECT_EQ(delivered(all_to_all_v(matrix, true)), expected);
}

TEST(AllToAllV, CountsTheLargestBufferAsNcclTests) {
  TrafficMatrix matrix = TrafficMatrix::Zero(4, 4);
  matrix(0, 1) = 5;
  matrix(2, 1) = 6;
  matrix(1, 1) = 1;
  const Pattern pattern = all_to_all_v(matrix, true);
  EXPECT_EQ(pattern.message_size, 12_B);  // what rank 1 receives
  EXPECT_DOUBLE_EQ(pattern.busbw_factor, 3.0 / 4.0);
  EXPECT_EQ(pattern.flows.size(), 2U);
  EXPECT_EQ(all_to_all_v(matrix, false).flows.size(), 3U);
  EXPECT_TRUE(all_to_all_v(TrafficMatrix::Zero(4, 4), false).flows.empty());
}

TEST(AllToAllV, RefusesMatricesThatAreNone) {
  EXPECT_EQ(refusal([] { all_to_all_v(TrafficMatrix::Zero(2, 3), false); }),
            "pattern alltoallv: matrix of 2 x 3: expected N x N of 1 to 4096 ranks");
  EXPECT_EQ(refusal([] { all_to_all_v(TrafficMatrix(), false); }),
            "pattern alltoallv: matrix of 0 x 0: expected N x N of 1 to 4096 ranks");
  TrafficMatrix matrix = TrafficMatrix::Zero(2, 2);
  matrix(1, 0) = -3;
  EXPECT_EQ(refusal([&] { all_to_all_v(matrix, false); }),
            "pattern alltoallv: -3 bytes from rank 1 to 0: expected 0 to 1125899906842624 bytes");
  matrix(1, 0) = kMaxMessageSize.count();
  EXPECT_EQ(refusal([&] { all_to_all_v(matrix, false); }), "accepted");
  matrix(0, 0) = 1;
  EXPECT_EQ(refusal([&] { all_to_all_v(matrix, false); }),
            "pattern alltoallv: rank 0 receives 1125899906842625 bytes: expected at most "
            "1125899906842624");
  // The hottest target of the largest size does not fit either.
  EXPECT_THAT(
      refusal([] { all_to_all_v(draw_matrix(MatrixKind::kZipf, 16, kMaxMessageSize, 1), false); }),
      testing::HasSubstr("receives"));
}

}  // namespace
}  // namespace hoccl::engine
