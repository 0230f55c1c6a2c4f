#include "sim/train/train.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/trace/trace_recorder.h"
#include "sim/run/fork_pool.h"

namespace hoccl::sim {
namespace {

using engine::ConfigError;
using engine::Seconds;
using engine::TraceEvent;
using engine::TrackKind;

/// Two servers of four GPUs: tensor 2, pipeline 2, data 2, a model of eight small layers. One
/// simulation per process: every test runs one step.
TrainingScenario small(const std::string& system) {
  TrainingSetup setup = resolve_training_setup("gpt-6.7b");
  setup.model = {.layers = 8,
                 .hidden = 1024,
                 .heads = 16,
                 .feed_forward = 4096,
                 .sequence = 1024,
                 .vocabulary = 8192};
  setup.layout = {.tensor = 2,
                  .pipeline = 2,
                  .chunks = 2,
                  .data = 2,
                  .microbatch = 1,
                  .microbatches = 4,
                  .schedule = PipelineSchedule::kInterleaved};
  setup.speed.step_overhead = Seconds(0.0);
  engine::Topology topology = engine::preset_topology("h800-2x4");
  Calibration calibration = calibration_for(topology);
  return {.topology = std::move(topology),
          .calibration = std::move(calibration),
          .setup = std::move(setup),
          .system = system};
}

TrainingScenario pipeline_only(int stages, int microbatches) {
  TrainingScenario scenario = small("hoccl");
  scenario.topology = engine::preset_topology("h800-1x" + std::to_string(stages));
  scenario.communication = false;
  scenario.setup.model.layers = stages;
  scenario.setup.layout = {.tensor = 1,
                           .pipeline = stages,
                           .chunks = 1,
                           .data = 1,
                           .microbatch = 1,
                           .microbatches = microbatches,
                           .schedule = PipelineSchedule::k1f1b};
  return scenario;
}

class OnEverySystem : public testing::TestWithParam<std::string> {};

TEST_P(OnEverySystem, AStepEndsWithinItsBoundAndSmSecondsAddUp) {
  const TrainingScenario scenario = small(GetParam());
  const TrainingResult result = train(scenario);
  EXPECT_GE(result.step, result.bound);
  EXPECT_GT(result.bound, Seconds(0.0));
  for (const ComputeAccount& account : result.accounts) {
    Seconds active{0.0};
    for (std::size_t traffic = 0; traffic < kTrafficClassCount; ++traffic) {
      double held = 0.0;
      for (const auto& phase : account.phases) held += phase.held[traffic];
      // What is held while kernels run is part of what is held at all.
      EXPECT_LE(held, account.held_ever[traffic] * (1.0 + 1e-9));
    }
    for (const auto& phase : account.phases) {
      active += phase.active;
      EXPECT_GE(phase.active.count(), phase.alone.count() * (1.0 - 1e-9));
    }
    EXPECT_LE(active, result.step * (1.0 + 1e-9));
  }
  // Every launch was ahead of its kernel.
  EXPECT_GE(result.slack.front(), Seconds(0.0));
}

TEST_P(OnEverySystem, NoStreamRunsTwoThingsAtOnceAndOrderIsKept) {
  engine::TraceRecorder recorder;
  const TrainingScenario scenario = small(GetParam());
  train(scenario, {.trace = &recorder});
  std::map<engine::Track, std::vector<TraceEvent>> streams;
  for (const TraceEvent& event : recorder.events()) {
    if (event.track.kind == TrackKind::kStream) streams[event.track].push_back(event);
  }
  ASSERT_GE(streams.size(), 8U);
  std::size_t computes = 0;
  for (auto& [track, events] : streams) {
    std::ranges::stable_sort(events, {}, &TraceEvent::begin);
    for (std::size_t i = 1; i < events.size(); ++i) {
      EXPECT_LE(events[i - 1].end.count(), events[i].begin.count() + 1e-12)
          << "rank " << track.rank.value() << " stream " << track.index;
    }
    if (track.index == static_cast<int>(StepStream::kCompute)) ++computes;
  }
  EXPECT_EQ(computes, 8U);
}

TEST_P(OnEverySystem, PassesRunInTheOrderOfTheSchedule) {
  const TrainingResult result = train(small(GetParam()));
  for (const RankRecord& rank : result.ranks) {
    ASSERT_FALSE(rank.passes.empty());
    for (std::size_t i = 0; i < rank.passes.size(); ++i) {
      EXPECT_LT(rank.passes[i].begin, rank.passes[i].end);
      if (i > 0) {
        EXPECT_LE(rank.passes[i - 1].end, rank.passes[i].begin);
      }
    }
  }
}

std::string named(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ':', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Systems, OnEverySystem,
                         testing::Values("hoccl", "nccl", "nccl:8sm", "nccl:zero", "vccl"), named);

class Bubble : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(Bubble, Of1f1bIsTheTextbooksWithCommunicationOff) {
  const auto [stages, microbatches] = GetParam();
  TrainingScenario scenario = pipeline_only(stages, microbatches);
  // All stages alike: no output layer to speak of, and a program that is far ahead.
  scenario.setup.model.vocabulary = 1;
  scenario.calibration.set("launch.kernel=0us");
  const TrainingResult result = train(scenario);
  const double expected = (stages - 1.0) / (microbatches + stages - 1.0);
  EXPECT_NEAR(result.bubble, expected, 2e-3);
}
INSTANTIATE_TEST_SUITE_P(Stages, Bubble,
                         testing::Values(std::pair(2, 2), std::pair(4, 4), std::pair(4, 16),
                                         std::pair(8, 3), std::pair(8, 32)));

TEST(Train, WithoutContentionKernelsTakeExactlyTheirTime) {
  TrainingScenario scenario = small("nccl:8sm");
  scenario.contention = ContentionKind::kNone;
  const TrainingResult result = train(scenario);
  EXPECT_GT(result.isum, 0.0);  // SMs are held all the same
  EXPECT_NEAR(result.compute / result.compute_alone, 1.0, 1e-12);
}

TEST(Train, HocclHoldsNoSmsForMessagesAndGathers) {
  TrainingScenario scenario = small("hoccl");
  scenario.ideal_reduce = true;
  const TrainingResult result = train(scenario);
  EXPECT_EQ(result.peak_sms[static_cast<std::size_t>(TrafficClass::kPipeline)], 0);
  EXPECT_EQ(result.peak_sms[static_cast<std::size_t>(TrafficClass::kData)], 0);
  EXPECT_EQ(result.overlapped_sms, 0.0);
  EXPECT_EQ(result.peak_sms[static_cast<std::size_t>(TrafficClass::kTensor)],
            scenario.setup.sms.tensor);
}

TEST(Train, NcclHoldsTheSmsOfItsName) {
  const TrainingResult result = train(small("nccl:6sm"));
  // A send and a receive in each direction at most, of six each.
  const int pipeline = result.peak_sms[static_cast<std::size_t>(TrafficClass::kPipeline)];
  EXPECT_EQ(pipeline % 6, 0);
  EXPECT_GE(pipeline, 6);
  EXPECT_LE(pipeline, 24);
  EXPECT_EQ(result.peak_sms[static_cast<std::size_t>(TrafficClass::kData)], 6);
}

/// Results of one step in a process of its own: SimGrid allows one simulation per process.
std::vector<double> in_a_process(const TrainingScenario& scenario) {
  const std::string text = run_forked(
                               1, 1,
                               [&scenario](std::size_t) {
                                 const TrainingResult result = train(scenario);
                                 return fmt::format("{:a} {:a} {:a}", result.step.count(),
                                                    result.forward.count(), result.compute.count());
                               },
                               [](std::size_t) { return std::string("a step"); })
                               .front();
  std::vector<double> values;
  for (std::istringstream stream(text); stream;) {
    std::string word;
    if (stream >> word) values.push_back(std::strtod(word.c_str(), nullptr));
  }
  return values;
}

TEST(Train, BothNetworksGiveTheSameStep) {
  for (const char* system : {"nccl:8sm", "hoccl"}) {
    TrainingScenario scenario = small(system);
    const std::vector<double> fluid = in_a_process(scenario);
    scenario.network = NetworkKind::kCm02;
    const std::vector<double> cm02 = in_a_process(scenario);
    ASSERT_EQ(fluid.size(), 3U);
    for (std::size_t i = 0; i < fluid.size(); ++i) EXPECT_NEAR(cm02[i] / fluid[i], 1.0, 2e-3);
  }
}

TEST(Train, TheSameInputsGiveTheSameStep) {
  for (const char* system : {"hoccl", "vccl"}) {
    TrainingScenario scenario = small(system);
    scenario.dynamic_buffers = true;
    scenario.busy_driver = 0.3;
    EXPECT_EQ(in_a_process(scenario), in_a_process(scenario));
  }
}

TEST(Train, ComputeWithoutContentionIsThatWithoutCommunication) {
  TrainingScenario scenario = small("nccl:8sm");
  scenario.contention = ContentionKind::kNone;
  const double alone = in_a_process(scenario)[2];
  scenario.communication = false;
  EXPECT_NEAR(in_a_process(scenario)[2] / alone, 1.0, 1e-12);
}

TEST(Train, ReceivesAheadHoldMoreSms) {
  TrainingScenario scenario = small("nccl:8sm");
  const double once = in_a_process(scenario)[2];
  scenario.setup.layout.receive_ahead = 3;
  EXPECT_GT(in_a_process(scenario)[2], once);
}

TEST(Train, RegistrationsOfDynamicTensorsMakeVcclSlower) {
  TrainingScenario scenario = small("vccl");
  const double kept = in_a_process(scenario)[0];
  scenario.dynamic_buffers = true;
  scenario.busy_driver = 0.5;
  EXPECT_GT(in_a_process(scenario)[0], 1.5 * kept);
}

TEST(Train, EveryScheduleEndsInEverySystem) {
  for (const char* system : {"hoccl", "nccl", "vccl", "nccl:zero"}) {
    for (const bool group : {false, true}) {
      for (const PipelineSchedule schedule :
           {PipelineSchedule::k1f1b, PipelineSchedule::kInterleaved}) {
        for (const int microbatches : {2, 6}) {
          TrainingScenario scenario = small(system);
          scenario.group_messages = group;
          scenario.setup.layout.schedule = schedule;
          scenario.setup.layout.microbatches = microbatches;
          if (schedule == PipelineSchedule::k1f1b) scenario.setup.layout.chunks = 1;
          EXPECT_EQ(in_a_process(scenario).size(), 3U)
              << system << " " << group << " " << to_string(schedule) << " " << microbatches;
        }
      }
    }
  }
}

TEST(Train, GroupedMessagesOfAnyPipelineEnd) {
  for (const int stages : {2, 4}) {
    for (const int microbatches : {1, 2, 3, 4, 5, 7, 9}) {
      TrainingScenario scenario = small("nccl");
      scenario.topology = engine::preset_topology("h800-1x" + std::to_string(stages));
      scenario.group_messages = true;
      scenario.setup.layout = {.tensor = 1,
                               .pipeline = stages,
                               .chunks = 1,
                               .data = 1,
                               .microbatch = 1,
                               .microbatches = microbatches,
                               .schedule = PipelineSchedule::kInterleaved};
      EXPECT_EQ(in_a_process(scenario).size(), 3U) << stages << " stages, " << microbatches;
    }
  }
}

TEST(Train, VcclReadsMessagesBetweenNodesInPieces) {
  TrainingScenario scenario = small("vccl");
  const double whole = in_a_process(scenario)[0];
  scenario.calibration.set("vccl.piece=16KiB");
  EXPECT_GT(in_a_process(scenario)[0], whole);
}

TEST(Train, OneRankAloneIsAStepToo) {
  for (const char* system : {"hoccl", "nccl", "vccl", "nccl:zero"}) {
    TrainingScenario scenario = pipeline_only(1, 2);
    scenario.system = system;
    scenario.communication = true;
    EXPECT_EQ(in_a_process(scenario).size(), 3U) << system;
  }
}

TEST(Train, NoGpuHoldsMoreSmsThanItHas) {
  const TrainingScenario scenario = small("nccl:64sm");
  const TrainingResult result = train(scenario);
  for (const ComputeAccount& account : result.accounts) {
    double held = 0.0;
    for (const double each : account.held_ever) held += each;
    EXPECT_LE(held, static_cast<double>(scenario.calibration.gpu.sms) * result.step.count());
  }
  EXPECT_LE(result.isum, 1.0);
}

TEST(Train, RefusesWhatDoesNotFit) {
  TrainingScenario scenario = small("hoccl");
  scenario.setup.layout.tensor = 3;
  EXPECT_THROW(require_trainable(scenario), ConfigError);
  scenario = small("nonsense");
  EXPECT_THROW(require_trainable(scenario), ConfigError);
}

}  // namespace
}  // namespace hoccl::sim
