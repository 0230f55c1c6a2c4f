#include "engine/pattern/moe_routing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/random.h"
#include "engine/pattern/apportion.h"
#include "engine/pattern/shuffle.h"

namespace hoccl::engine {
namespace {

using Index = Eigen::Index;

// DeepSeek-V3 (arXiv 2412.19437, §2.1.2, §3.2, §4.2): 256 routed experts over 64 GPUs, 8 of them
// for each token. Its limit of 4 nodes per token is left out: a matrix knows no nodes.
constexpr int kExpertsPerRank = 4;
constexpr int kExpertsPerToken = 8;

// Assumption: the k-th most popular expert is chosen in proportion to 1 / sqrt(k), milder than
// Zipf's law because training balances the experts, and the hot ones lie anywhere. The busiest rank
// then receives 1.5 times the mean at 16 ranks, 2.6 times at 64.
std::vector<std::int64_t> popularities(int experts, Random& random) {
  constexpr double kScale = 1 << 20;
  std::vector<std::int64_t> popularity;
  popularity.reserve(static_cast<std::size_t>(experts));
  for (int k = 1; k <= experts; ++k) {
    // IEEE 754 rounds square root and quotient correctly, so this is the same everywhere.
    popularity.push_back(static_cast<std::int64_t>(kScale / std::sqrt(static_cast<double>(k))));
  }
  shuffle(popularity, random);
  return popularity;
}

/// A wheel of fortune: each expert on as many fields as it is popular.
std::vector<int> wheel_of(const std::vector<std::int64_t>& popularity) {
  // The least popular expert has half the mean's share, so it keeps about 32 fields.
  constexpr std::int64_t kFieldsPerExpert = 64;
  const std::vector<std::int64_t> fields =
      apportion(popularity, kFieldsPerExpert * std::ssize(popularity));
  std::vector<int> wheel;
  for (std::size_t expert = 0; expert < fields.size(); ++expert) {
    wheel.insert(wheel.end(), static_cast<std::size_t>(fields[expert]), static_cast<int>(expert));
  }
  return wheel;
}

/// Which tokens went where, so that each goes once: the last token that chose an expert or a rank.
class Router {
 public:
  Router(int ranks, Random& random)
      : experts_(ranks * kExpertsPerRank),
        random_(random),
        wheel_(wheel_of(popularities(experts_, random))),
        last_of_expert_(static_cast<std::size_t>(experts_), -1),
        last_of_rank_(static_cast<std::size_t>(ranks), -1) {}

  /// Adds one to copies[rank] for each rank that holds an expert of the next token.
  void route(Eigen::Ref<TrafficMatrix> copies) {
    ++token_;
    for (int chosen = 0; chosen < std::min(kExpertsPerToken, experts_);) {
      const std::int64_t field = random_.between(0, std::ssize(wheel_) - 1);
      const int expert = wheel_[static_cast<std::size_t>(field)];
      if (last_of_expert_[static_cast<std::size_t>(expert)] == token_) continue;
      last_of_expert_[static_cast<std::size_t>(expert)] = token_;
      ++chosen;
      const int rank = expert / kExpertsPerRank;
      if (last_of_rank_[static_cast<std::size_t>(rank)] == token_) continue;
      last_of_rank_[static_cast<std::size_t>(rank)] = token_;
      ++copies(0, rank);
    }
  }

 private:
  int experts_;
  Random& random_;
  std::vector<int> wheel_;
  std::vector<std::int64_t> last_of_expert_;
  std::vector<std::int64_t> last_of_rank_;
  std::int64_t token_ = -1;
};

}  // namespace

TrafficMatrix route_tokens(int ranks, Bytes mean, std::uint64_t seed) {
  // Whatever the size: so many tokens of each rank are drawn, and the counts scaled. One sequence
  // of DeepSeek-V3's pre-training (§4.2); a pair then deviates by some 5% at 64 ranks.
  constexpr int kTokensDrawn = 4096;
  TrafficMatrix matrix = TrafficMatrix::Zero(ranks, ranks);
  if (mean == Bytes(0)) return matrix;
  Random random(seed);
  Router router(ranks, random);
  for (Index source = 0; source < ranks; ++source) {
    for (int token = 0; token < kTokensDrawn; ++token) router.route(matrix.row(source));
  }
  std::vector<std::int64_t> sums;
  for (Index source = 0; source < ranks; ++source) sums.push_back(matrix.row(source).sum());
  const std::int64_t copies = std::max<std::int64_t>(1, ranks * mean / kTokenSize);
  const std::vector<std::int64_t> sent = apportion(sums, copies);
  for (Index source = 0; source < ranks; ++source) {
    const std::int64_t* row = matrix.row(source).data();
    const std::vector<std::int64_t> parts =
        apportion({row, static_cast<std::size_t>(ranks)}, sent[static_cast<std::size_t>(source)]);
    for (Index target = 0; target < ranks; ++target) {
      matrix(source, target) = parts[static_cast<std::size_t>(target)] * kTokenSize.count();
    }
  }
  return matrix;
}

}  // namespace hoccl::engine
