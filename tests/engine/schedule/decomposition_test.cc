#include "engine/schedule/decomposition.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/base/random.h"
namespace hoccl::engine {
namespace {

constexpr Order kStaged[] = {Order::kCritical, Order::kBvn, Order::kRotation};

enum class Kind { kUniform, kRandom, kSkewed, kSkewedSource, kSparse, kTiny };
constexpr Kind kKinds[] = {Kind::kUniform,      Kind::kRandom, Kind::kSkewed,
                           Kind::kSkewedSource, Kind::kSparse, Kind::kTiny};

PortMatrix draw(Kind kind, int ports, std::uint64_t seed) {
  Random random(seed);
  PortMatrix matrix = PortMatrix::Zero(ports, ports);
  const std::int64_t scale = random.between(1, 5000);
  for (int i = 0; i < ports; ++i) {
    const auto hot = static_cast<int>(random.between(0, ports - 1));
    for (int j = 0; j < ports; ++j) {
      if (i == j) continue;
      switch (kind) {
        case Kind::kUniform:
          matrix(i, j) = scale;
          break;
        case Kind::kRandom:
          matrix(i, j) = random.between(0, 2 * scale);
          break;
        case Kind::kSkewed:
          matrix(i, j) = scale * ports / (j + 1);
          break;
        case Kind::kSkewedSource:
          matrix(i, j) = scale * ports / ((j + hot) % ports + 1);
          break;
        case Kind::kSparse:
          matrix(i, j) = random.chance(0.2) ? random.between(1, scale) : 0;
          break;
        case Kind::kTiny:
          matrix(i, j) = random.between(0, 1);
          break;
      }
    }
  }
  return matrix;
}

/// The first thing that is wrong with the stages of a matrix, or "".
std::string fault(const PortMatrix& matrix, const Decomposition& stages) {
  PortMatrix left = matrix;
  for (std::size_t stage = 0; stage < stages.stage_count(); ++stage) {
    if (stages.lengths[stage] < 1) return "empty stage";
    std::set<std::int32_t> receiving;
    const auto targets = stages.targets_in(stage);
    for (int i = 0; i < stages.ports; ++i) {
      const std::int32_t target = targets[static_cast<std::size_t>(i)];
      if (target < 0) continue;
      if (!receiving.insert(target).second) return "receives from two";
      if (left(i, target) == 0) return "a pair with nothing to send";
      left(i, target) -= std::min(left(i, target), stages.lengths[stage]);
    }
  }
  return left.isZero() ? "" : "something is left";
}

template <class Check>
void for_each_matrix(int most_ports, int seeds, Check check) {
  for (int ports = 1; ports <= most_ports; ports += ports < 10 ? 1 : 7) {
    for (const Kind kind : kKinds) {
      for (int seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(testing::Message()
                     << ports << " ports, kind " << static_cast<int>(kind) << ", seed " << seed);
        check(draw(kind, ports, static_cast<std::uint64_t>(seed)));
      }
    }
  }
}

TEST(Decomposition, UsesEachPortAtMostOncePerStageAndLeavesNothing) {
  for_each_matrix(38, 3, [](const PortMatrix& matrix) {
    for (const Order order : kStaged) {
      for (const double quantise : {0.0, 0.05}) {
        EXPECT_EQ(fault(matrix, decompose(matrix, order, quantise)), "");
      }
    }
  });
}

TEST(Decomposition, CriticalAndBirkhoffTakeExactlyAsLongAsTheBusiestPort) {
  for_each_matrix(38, 3, [](const PortMatrix& matrix) {
    EXPECT_EQ(total_length(decompose(matrix, Order::kCritical, 0.0)), busiest_port(matrix));
    EXPECT_EQ(total_length(decompose(matrix, Order::kBvn, 0.0)), busiest_port(matrix));
  });
}

TEST(Decomposition, QuantisingCostsAtMostWhatIsAllowed) {
  for_each_matrix(38, 2, [](const PortMatrix& matrix) {
    const Decomposition stages = decompose(matrix, Order::kCritical, 0.1);
    EXPECT_GE(total_length(stages), busiest_port(matrix));
    EXPECT_LE(static_cast<double>(total_length(stages)),
              1.1 * static_cast<double>(busiest_port(matrix)));
  });
}

TEST(Decomposition, QuantisingSavesStages) {
  const PortMatrix matrix = draw(Kind::kRandom, 31, 1);
  EXPECT_LT(2 * decompose(matrix, Order::kCritical, 0.1).stage_count(),
            3 * decompose(matrix, Order::kCritical, 0.0).stage_count());
}

TEST(Decomposition, EqualEntriesNeedOneStagePerPeer) {
  for (const Order order : kStaged) {
    const Decomposition stages = decompose(draw(Kind::kUniform, 12, 3), order, 0.0);
    EXPECT_EQ(stages.stage_count(), 11U);
    EXPECT_EQ(std::set(stages.lengths.begin(), stages.lengths.end()).size(), 1U);
  }
}

TEST(Decomposition, CriticalNeedsFarFewerStagesThanBirkhoff) {
  const PortMatrix matrix = draw(Kind::kRandom, 31, 5);
  EXPECT_LT(3 * decompose(matrix, Order::kCritical, 0.0).stage_count(),
            decompose(matrix, Order::kBvn, 0.0).stage_count());
}

TEST(Decomposition, ARotationStageIsAsLongAsItsLargestEntry) {
  PortMatrix matrix(3, 3);
  matrix << 0, 5, 1,  //
      2, 0, 3,        //
      7, 4, 0;
  const Decomposition stages = decompose(matrix, Order::kRotation, 0.0);
  EXPECT_EQ(stages.lengths, (std::vector<std::int64_t>{7, 4}));
}

TEST(Decomposition, LocalOrderHasNoStages) {
  EXPECT_EQ(decompose(draw(Kind::kRandom, 8, 1), Order::kLocal, 0.1).stage_count(), 0U);
}

TEST(Decomposition, NothingToSendNeedsNoStage) {
  for (const Order order : kStaged) {
    EXPECT_EQ(decompose(PortMatrix::Zero(5, 5), order, 0.0).stage_count(), 0U);
    EXPECT_EQ(decompose(PortMatrix::Zero(0, 0), order, 0.1).stage_count(), 0U);
  }
}

}  // namespace
}  // namespace hoccl::engine
