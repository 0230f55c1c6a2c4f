#include "sim/train/step_program.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Rank;

TrainingSetup with_layout(int pipeline, int chunks, int microbatches, PipelineSchedule schedule) {
  TrainingSetup setup = resolve_training_setup("gpt-6.7b");
  setup.layout.tensor = 1;
  setup.layout.pipeline = pipeline;
  setup.layout.chunks = chunks;
  setup.layout.data = 1;
  setup.layout.microbatches = microbatches;
  setup.layout.schedule = schedule;
  return setup;
}

const Calibration kMachine = resolve_calibration("h800");

/// Messages in the order of each (source, target, direction), as each end calls them.
using Ends = std::map<std::tuple<int, int, bool>, std::array<int, 2>>;

Ends ends_of(const TrainingSetup& setup, const StepOptions& options) {
  Ends ends;
  for (int rank = 0; rank < setup.layout.ranks(); ++rank) {
    for (const StepItem& item : make_step(setup, kMachine, Rank(rank), options).items) {
      for (const StepMessage& message : item.messages) {
        const int source = message.sends ? rank : message.peer.value();
        const int target = message.sends ? message.peer.value() : rank;
        ++ends[{source, target, item.forward}][message.sends ? 0 : 1];
      }
    }
  }
  return ends;
}

class StepProgramMessages
    : public testing::TestWithParam<std::tuple<int, int, int, PipelineSchedule, bool>> {};

TEST_P(StepProgramMessages, EveryOneHasTwoEnds) {
  const auto [pipeline, chunks, microbatches, schedule, group] = GetParam();
  const TrainingSetup setup = with_layout(pipeline, chunks, microbatches, schedule);
  const Ends ends = ends_of(setup, {.group_messages = group});
  int total = 0;
  for (const auto& [pair, count] : ends) {
    EXPECT_EQ(count[0], count[1]);
    total += count[0];
  }
  // Between all chunks, forward and backward, for every micro-batch.
  EXPECT_EQ(total, 2 * (pipeline * chunks - 1) * microbatches);
}

INSTANTIATE_TEST_SUITE_P(Layouts, StepProgramMessages,
                         testing::Values(std::tuple(2, 1, 1, PipelineSchedule::k1f1b, false),
                                         std::tuple(4, 1, 8, PipelineSchedule::k1f1b, true),
                                         std::tuple(4, 1, 2, PipelineSchedule::k1f1b, false),
                                         std::tuple(2, 2, 4, PipelineSchedule::kInterleaved, false),
                                         std::tuple(4, 2, 4, PipelineSchedule::kInterleaved, true),
                                         std::tuple(8, 1, 3, PipelineSchedule::kInterleaved, false),
                                         std::tuple(8, 4, 16, PipelineSchedule::kInterleaved,
                                                    false)));

TEST(StepProgram, NobodyWaitsForAnEventThatIsRecordedLater) {
  for (const int ahead : {1, 2, 5}) {
    TrainingSetup setup = with_layout(4, 2, 8, PipelineSchedule::kInterleaved);
    setup.layout.receive_ahead = ahead;
    setup.layout.data = 2;
    setup.buckets_per_chunk = 3;
    for (int rank = 0; rank < setup.layout.ranks(); ++rank) {
      const StepProgram program = make_step(setup, kMachine, Rank(rank), {});
      std::set<int> recorded;
      for (const StepItem& item : program.items) {
        if (item.action == StepAction::kRecord) {
          EXPECT_TRUE(recorded.insert(item.event).second);
        }
        if (item.action == StepAction::kWait) {
          EXPECT_EQ(recorded.count(item.event), 1U);
        }
      }
      EXPECT_EQ(static_cast<int>(recorded.size()), program.events);
    }
  }
}

TEST(StepProgram, ParametersAreGatheredAndGradientsReducedOnce) {
  for (const bool overlaps : {true, false}) {
    TrainingSetup setup = with_layout(2, 2, 4, PipelineSchedule::kInterleaved);
    setup.layout.data = 4;
    setup.buckets_per_chunk = 2;
    setup.overlap_gather = setup.overlap_reduce = overlaps;
    std::int64_t gathered = 0;
    std::int64_t reduced = 0;
    for (int rank = 0; rank < setup.layout.ranks(); ++rank) {
      if (position_of(setup.layout, Rank(rank)).data != 0) continue;
      for (const StepItem& item : make_step(setup, kMachine, Rank(rank), {}).items) {
        if (item.action == StepAction::kParameterGather) gathered += item.size.count();
        if (item.action == StepAction::kGradientReduce) reduced += item.size.count();
      }
    }
    const std::int64_t layers = setup.model.layers * layer_parameters(setup.model);
    // Both ends of the model hold the embedding.
    const std::int64_t all = layers + 2 * std::int64_t{setup.model.vocabulary} * setup.model.hidden;
    EXPECT_NEAR(static_cast<double>(gathered), static_cast<double>(all * setup.parameter_bytes),
                1000.0);
    EXPECT_NEAR(static_cast<double>(reduced), static_cast<double>(all * setup.gradient_bytes),
                1000.0);
  }
}

TEST(StepProgram, ExpertsAreGatheredAmongThoseWhoHoldThem) {
  TrainingSetup setup = with_layout(2, 1, 4, PipelineSchedule::kInterleaved);
  setup.model.experts = 8;
  setup.layout.data = 8;
  for (const int share : {1, 2, 8}) {
    setup.layout.expert = share;
    std::int64_t experts = 0;
    for (const StepItem& item : make_step(setup, kMachine, Rank(0), {}).items) {
      if (item.action == StepAction::kParameterGather && item.experts) {
        experts += item.size.count();
      }
    }
    ModelShape dense = setup.model;
    dense.experts = 1;
    const std::int64_t one = (layer_parameters(setup.model) - layer_parameters(dense)) / 7;
    // Of 16 layers on the stage, its 8 / share experts; alone with them, nobody gathers.
    const std::int64_t expected = share == 8 ? 0 : 16 * one * (8 / share) * setup.parameter_bytes;
    EXPECT_NEAR(static_cast<double>(experts), static_cast<double>(expected), 1000.0) << share;
    EXPECT_EQ(expert_data_group(setup.layout, Rank(0)).size(), static_cast<std::size_t>(8 / share));
  }
}

TEST(StepProgram, KernelsDoTheModelsOperations) {
  TrainingSetup setup = with_layout(4, 2, 8, PipelineSchedule::kInterleaved);
  setup.layout.tensor = 2;
  double operations = 0.0;
  for (int rank = 0; rank < setup.layout.ranks(); ++rank) {
    for (const StepItem& item : make_step(setup, kMachine, Rank(rank), {}).items) {
      if (item.action != StepAction::kKernel || item.kernel.phase == Phase::kOther) continue;
      const double share =
          item.kernel.phase == Phase::kForward ? setup.speed.forward : setup.speed.backward;
      operations += item.kernel.alone.count() * share * kMachine.gpu.peak_tflops * 1e12;
    }
  }
  const double expected = step_operations(
      setup.model, std::int64_t{setup.layout.microbatch} * setup.layout.microbatches);
  EXPECT_NEAR(operations / expected, 1.0, 1e-9);
}

TEST(StepProgram, WithCommunicationOffOnlyMessagesAreLeft) {
  TrainingSetup setup = with_layout(4, 1, 4, PipelineSchedule::k1f1b);
  setup.layout.tensor = 2;
  setup.layout.data = 2;
  for (const StepItem& item : make_step(setup, kMachine, Rank(3), {.communication = false}).items) {
    EXPECT_NE(item.action, StepAction::kTensorGather);
    EXPECT_NE(item.action, StepAction::kTensorReduce);
    EXPECT_NE(item.action, StepAction::kParameterGather);
    EXPECT_NE(item.action, StepAction::kGradientReduce);
    EXPECT_NE(item.action, StepAction::kNorm);
  }
}

}  // namespace
}  // namespace hoccl::sim
