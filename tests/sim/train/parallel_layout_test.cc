#include "sim/train/parallel_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "engine/base/config_error.h"
#include "sim/train/model_shape.h"

namespace hoccl::sim {
namespace {

using engine::ConfigError;
using engine::Rank;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr ParallelLayout kSpread{
    .tensor = 2, .pipeline = 4, .chunks = 2, .data = 4, .expert = 2, .microbatches = 8};

constexpr ModelShape kEightExperts{.layers = 32,
                                   .hidden = 4096,
                                   .heads = 32,
                                   .feed_forward = 16384,
                                   .sequence = 2048,
                                   .vocabulary = 51200,
                                   .experts = 8};

/// The line that refuses a layout on four nodes of eight GPUs; empty where none does.
std::string refusal(const ParallelLayout& layout, const ModelShape& model = kEightExperts,
                    std::string_view topology = "h800-4x8") {
  try {
    require_layout(layout, model, engine::preset_topology(topology));
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return {};
}

template <class Value>
std::string refusal_with(Value ParallelLayout::*member, Value value) {
  ParallelLayout layout = kSpread;
  layout.*member = value;
  return refusal(layout);
}

TEST(ParallelLayout, NumbersRanksByTensorThenDataThenPipeline) {
  const auto at = [](int rank) { return position_of(kSpread, Rank(rank)); };
  EXPECT_EQ(at(0), (Position{0, 0, 0}));
  EXPECT_EQ(at(1), (Position{.tensor = 1}));
  EXPECT_EQ(at(kSpread.tensor), (Position{.data = 1}));
  EXPECT_EQ(at(kSpread.tensor * kSpread.data), (Position{.stage = 1}));
  EXPECT_EQ(at(kSpread.ranks() - 1), (Position{1, 3, 3}));
}

TEST(ParallelLayout, CanNumberStagesBeforeReplicas) {
  // Counts that all differ, so that no stride can stand for another.
  const ParallelLayout layout{
      .tensor = 2, .pipeline = 4, .data = 3, .order = RankOrder::kTensorPipelineData};
  EXPECT_EQ(position_of(layout, Rank(1)), (Position{.tensor = 1}));
  EXPECT_EQ(position_of(layout, Rank(layout.tensor)), (Position{.stage = 1}));
  EXPECT_EQ(position_of(layout, Rank(layout.tensor * layout.pipeline)), (Position{.data = 1}));
  EXPECT_EQ(position_of(layout, Rank(layout.ranks() - 1)), (Position{1, 2, 3}));
}

TEST(ParallelLayout, APositionHoldsOneRankAndARankOnePosition) {
  for (const RankOrder order : {RankOrder::kTensorDataPipeline, RankOrder::kTensorPipelineData}) {
    const ParallelLayout layout{.tensor = 2, .pipeline = 4, .data = 3, .order = order};
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      const Position position = position_of(layout, Rank(rank));
      EXPECT_LT(position.tensor, layout.tensor);
      EXPECT_LT(position.data, layout.data);
      EXPECT_LT(position.stage, layout.pipeline);
      EXPECT_EQ(rank_at(layout, position), Rank(rank));
    }
  }
}

TEST(ParallelLayout, MembersOfAGroupDifferInOneCoordinateOnly) {
  for (int number = 0; number < kSpread.ranks(); ++number) {
    const Rank rank(number);
    const Position own = position_of(kSpread, rank);
    for (const Rank member : tensor_group(kSpread, rank)) {
      Position position = position_of(kSpread, member);
      position.tensor = own.tensor;
      EXPECT_EQ(position, own);
    }
    for (const Rank member : data_group(kSpread, rank)) {
      Position position = position_of(kSpread, member);
      position.data = own.data;
      EXPECT_EQ(position, own);
    }
  }
}

TEST(ParallelLayout, GroupsAreAscendingCompleteAndTheSameForAllTheirMembers) {
  using Group = std::vector<Rank>;
  using GroupOf = Group (*)(const ParallelLayout&, Rank);
  const std::vector<std::pair<GroupOf, int>> kinds = {{&tensor_group, kSpread.tensor},
                                                      {&data_group, kSpread.data},
                                                      {&expert_group, kSpread.expert}};
  for (const auto& [group_of, size] : kinds) {
    for (int number = 0; number < kSpread.ranks(); ++number) {
      const Group group = group_of(kSpread, Rank(number));
      EXPECT_EQ(static_cast<int>(std::set(group.begin(), group.end()).size()), size);
      EXPECT_TRUE(std::ranges::is_sorted(group));
      EXPECT_NE(std::ranges::find(group, Rank(number)), group.end());
      for (const Rank member : group) EXPECT_EQ(group_of(kSpread, member), group);
    }
  }
}

TEST(ParallelLayout, ExpertGroupsAreConsecutiveMembersOfTheDataGroup) {
  const Rank third = rank_at(kSpread, {.tensor = 1, .data = 2, .stage = 3});
  const Rank fourth = rank_at(kSpread, {.tensor = 1, .data = 3, .stage = 3});
  EXPECT_THAT(expert_group(kSpread, third), ElementsAre(third, fourth));
  ParallelLayout dense = kSpread;
  dense.expert = 1;
  EXPECT_THAT(expert_group(dense, third), ElementsAre(third));
}

TEST(ParallelLayout, OrdersAreReadAsTheyArePrinted) {
  for (const RankOrder each : {RankOrder::kTensorDataPipeline, RankOrder::kTensorPipelineData}) {
    EXPECT_EQ(parse_rank_order(to_string(each)), each);
  }
  EXPECT_THROW((void)parse_rank_order("pp-tp-dp"), ConfigError);
}

TEST(ParallelLayout, SchedulesAreReadAsTheyArePrinted) {
  for (const PipelineSchedule each : {PipelineSchedule::k1f1b, PipelineSchedule::kInterleaved}) {
    EXPECT_EQ(parse_pipeline_schedule(to_string(each)), each);
  }
  try {
    (void)parse_pipeline_schedule("gpipe");
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "schedule 'gpipe': expected 1f1b or interleaved");
  }
}

TEST(RequireLayout, AcceptsWhatFits) {
  EXPECT_EQ(refusal(kSpread), "");
  ParallelLayout plain{.tensor = 8, .pipeline = 4, .microbatches = 5};
  EXPECT_EQ(refusal(plain), "");
  plain.schedule = PipelineSchedule::k1f1b;
  EXPECT_EQ(refusal(plain), "");
}

TEST(RequireLayout, RefusesCountsBelowOne) {
  EXPECT_EQ(refusal_with(&ParallelLayout::tensor, 0), "layout.tensor = 0: expected at least 1");
  EXPECT_EQ(refusal_with(&ParallelLayout::expert, -1), "layout.expert = -1: expected at least 1");
  EXPECT_EQ(refusal_with(&ParallelLayout::microbatches, 0),
            "layout.microbatches = 0: expected at least 1");
  ModelShape model = kEightExperts;
  model.layers = 0;
  EXPECT_EQ(refusal(kSpread, model), "model.layers = 0: expected at least 1");
}

TEST(RequireLayout, RefusesTensorGroupsThatDoNotShareEqually) {
  EXPECT_EQ(refusal_with(&ParallelLayout::tensor, 3),
            "layout.tensor = 3: expected a divisor of 32 attention heads");
  const auto with = [](int ModelShape::*member, int value) {
    ModelShape model = kEightExperts;
    model.*member = value;
    return refusal(kSpread, model);
  };
  EXPECT_EQ(with(&ModelShape::heads, 30),
            "model.heads = 30: expected a divisor of 4096 values of a token (model.hidden)");
  EXPECT_EQ(with(&ModelShape::feed_forward, 16385),
            "layout.tensor = 2: expected a divisor of 16385 inner values of an MLP "
            "(model.feed_forward)");
  EXPECT_EQ(with(&ModelShape::vocabulary, 50257),
            "layout.tensor = 2: expected a divisor of 50257 words of the vocabulary");
  EXPECT_EQ(with(&ModelShape::sequence, 2047),
            "layout.tensor = 2: expected a divisor of 2047 tokens of a micro-batch");
}

TEST(RequireLayout, CountsTheTokensOfAllSequencesOfAMicroBatch) {
  ModelShape model = kEightExperts;
  model.sequence = 2047;
  ParallelLayout layout = kSpread;
  layout.microbatch = 2;
  EXPECT_EQ(refusal(layout, model), "");
}

TEST(RequireLayout, RefusesChunksOfUnequalLayers) {
  EXPECT_EQ(refusal_with(&ParallelLayout::chunks, 3),
            "layout.pipeline x layout.chunks = 12: expected a divisor of 32 layers");
}

TEST(RequireLayout, RefusesExpertsThatDoNotDivide) {
  EXPECT_EQ(refusal_with(&ParallelLayout::expert, 8),
            "layout.expert = 8: expected a divisor of 4 data-parallel ranks");
  EXPECT_EQ(refusal_with(&ParallelLayout::expert, 3),
            "layout.expert = 3: expected a divisor of 8 experts");
  ModelShape dense = kEightExperts;
  dense.experts = 1;
  EXPECT_THAT(refusal(kSpread, dense), HasSubstr("layout.expert = 2: expected"));
}

TEST(RequireLayout, RefusesAnotherNumberOfRanks) {
  EXPECT_EQ(refusal(kSpread, kEightExperts, "h800-2x8"),
            "layout.tensor x layout.pipeline x layout.data = 2 x 4 x 4: expected the 16 ranks of "
            "topology h800-2x8");
  EXPECT_NE(refusal(kSpread, kEightExperts, "h800-5x8"), "");
}

TEST(RequireLayout, RefusesTensorGroupsAcrossNodes) {
  ModelShape model = kEightExperts;
  model.experts = 1;
  const ParallelLayout layout{.tensor = 16, .pipeline = 2};
  EXPECT_EQ(refusal(layout, model),
            "layout.tensor = 16: expected groups within one node; ranks 0 and 8 are on nodes 0 and "
            "1");
}

TEST(RequireLayout, RefusesChunksThatTheScheduleCannotFill) {
  EXPECT_EQ(refusal_with(&ParallelLayout::schedule, PipelineSchedule::k1f1b),
            "layout.chunks = 2: expected 1 with layout.schedule = 1f1b");
  EXPECT_EQ(refusal_with(&ParallelLayout::microbatches, 6),
            "layout.microbatches = 6: expected a multiple of 4 stages, which hold 2 chunks each");
  ParallelLayout single = kSpread;
  single.pipeline = 1;
  single.data = 16;
  EXPECT_EQ(refusal(single), "layout.chunks = 2: expected 1 with a single stage");
}

}  // namespace
}  // namespace hoccl::sim
