#include <cstdint>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "engine/pattern/apportion.h"
#include "engine/pattern/moe_routing.h"
#include "engine/pattern/request_check.h"
#include "engine/pattern/share.h"
#include "engine/pattern/shuffle.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {
namespace {

using Index = Eigen::Index;
using Weights = std::vector<std::int64_t>;

void set_row(TrafficMatrix& matrix, Index source, const Weights& row) {
  for (Index target = 0; target < matrix.cols(); ++target) {
    matrix(source, target) = row[static_cast<std::size_t>(target)];
  }
}

/// 1 to 2^24, so that the sum over kMaxPairwiseRanks squared stays exact in a double.
std::int64_t drawn_weight(Random& random) {
  return static_cast<std::int64_t>(random.next() >> 40) + 1;
}

TrafficMatrix uniform(int ranks, Bytes mean) {
  TrafficMatrix matrix(ranks, ranks);
  for (int target = 0; target < ranks; ++target) {
    matrix.col(target).setConstant(share_size(mean, ranks, target).count());
  }
  return matrix;
}

/// Scales the weights so that a row holds `mean` on average.
TrafficMatrix scaled(const std::vector<Weights>& weights, Bytes mean) {
  Weights sums;
  for (const Weights& row : weights) {
    std::int64_t sum = 0;
    for (const std::int64_t weight : row) sum += weight;
    sums.push_back(sum);
  }
  const auto ranks = std::ssize(weights);
  const Weights sent = apportion(sums, ranks * mean.count());
  TrafficMatrix matrix(ranks, ranks);
  for (Index source = 0; source < ranks; ++source) {
    const auto row = static_cast<std::size_t>(source);
    set_row(matrix, source, apportion(weights[row], sent[row]));
  }
  return matrix;
}

TrafficMatrix random_sizes(int ranks, Bytes mean, Random& random) {
  std::vector<Weights> weights;
  for (int source = 0; source < ranks; ++source) {
    Weights& row = weights.emplace_back();
    for (int target = 0; target < ranks; ++target) row.push_back(drawn_weight(random));
  }
  return scaled(weights, mean);
}

/// Every rank sends `mean`; the k-th hottest target gets 1/k of the hottest's share.
TrafficMatrix zipf(int ranks, Bytes mean, bool anew_for_every_source, Random& random) {
  constexpr std::int64_t kHottest = std::int64_t{1} << 32;  // its multiples keep 1/k to 2^-20
  Weights weights;
  for (int k = 1; k <= ranks; ++k) weights.push_back(kHottest / k);
  shuffle(weights, random);
  TrafficMatrix matrix(ranks, ranks);
  for (Index source = 0; source < ranks; ++source) {
    if (anew_for_every_source && source > 0) shuffle(weights, random);
    set_row(matrix, source, apportion(weights, mean.count()));
  }
  return matrix;
}

TrafficMatrix sparse(int ranks, Bytes mean, Random& random) {
  constexpr double kPairsThatTalk = 0.25;
  std::vector<Weights> weights;
  for (int source = 0; source < ranks; ++source) {
    Weights& row = weights.emplace_back(static_cast<std::size_t>(ranks), 0);
    bool talks = false;
    for (int target = 0; target < ranks; ++target) {
      if (!random.chance(kPairsThatTalk)) continue;
      row[static_cast<std::size_t>(target)] = drawn_weight(random);
      talks = talks || target != source;
    }
    if (talks) continue;
    const auto other = ranks == 1 ? 0 : (source + random.between(1, ranks - 1)) % ranks;
    row[static_cast<std::size_t>(other)] = drawn_weight(random);
  }
  return scaled(weights, mean);
}

}  // namespace

TrafficMatrix draw_matrix(MatrixKind kind, int ranks, Bytes mean, std::uint64_t seed) {
  require_rank_count(kAllToAllVName, ranks, 1, kMaxPairwiseRanks);
  require_size(kAllToAllVName, mean);
  Random random(seed);
  switch (kind) {
    case MatrixKind::kUniform:
      return uniform(ranks, mean);
    case MatrixKind::kRandom:
      return random_sizes(ranks, mean, random);
    case MatrixKind::kZipf:
      return zipf(ranks, mean, false, random);
    case MatrixKind::kZipfSource:
      return zipf(ranks, mean, true, random);
    case MatrixKind::kSparse:
      return sparse(ranks, mean, random);
    case MatrixKind::kMoe:
      return route_tokens(ranks, mean, seed);
  }
  HOCCL_CHECK(false, "matrix kind {}", static_cast<int>(kind));
}

}  // namespace hoccl::engine
