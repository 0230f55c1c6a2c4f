#include "sim/train/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "sim/rivals/nccl_requirements.h"
#include "sim/run/fork_pool.h"
#include "sim/run/system_kind.h"
#include "sim/train/training_system.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::GpuId;
using engine::Rank;
using engine::Seconds;

namespace {

/// Holes appear within a few steps and hardly grow then.
constexpr int kStepsForMemory = 5;

SmContention contention_of(const TrainingScenario& scenario) {
  const ContentionConstants& constants = scenario.calibration.contention;
  return {.kind = scenario.communication ? scenario.contention : ContentionKind::kNone,
          .sms = static_cast<int>(scenario.calibration.gpu.sms),
          .forward_slope = constants.forward,
          .backward_slope = constants.backward,
          .memory_slope = constants.memory,
          .memory_rate = scenario.calibration.gpu.memory_rate};
}

/// The machine and everything on it, for one step.
class Step {
 public:
  Step(const TrainingScenario& scenario, const TrainingOutputs& outputs)
      : scenario_(scenario),
        fabric_(scenario.topology, scenario.calibration,
                {.network = scenario.network,
                 .slots = scenario.slots,
                 .slot_size = slot_size(scenario),
                 .trace = outputs.trace}),
        sms_(scenario.topology.gpu_count()),
        contention_(contention_of(scenario)),
        system_(make_training_system(scenario, fabric_, sms_)),
        units_(make_units()),
        sampler_(*this, outputs.sm_timeline) {
    sms_.watch(&sampler_);
    const StepOptions options{
        .group_messages = scenario.group_messages || scenario.system == "vccl",
        .communication = scenario.communication};
    const int ranks = scenario.setup.layout.ranks();
    for (int number = 0; number < ranks; ++number) {
      programs_.push_back(make_step(scenario.setup, scenario.calibration, Rank(number), options));
    }
    for (int number = 0; number < ranks; ++number) {
      const Rank rank(number);
      threads_.push_back(std::make_unique<LaunchThread>(fabric_, *system_, unit(rank), rank,
                                                        programs_[rank.index()]));
    }
  }

  TrainingResult run() {
    for (const auto& thread : threads_) thread->start();
    fabric_.run();
    require_ended();
    TrainingResult result;
    collect(result);
    return result;
  }

 private:
  /// Between the SM pool and the compute units, and looks on.
  class Sampler : public SmPool::Watcher {
   public:
    Sampler(Step& step, bool keeps) : step_(step), keeps_(keeps) {}
    void before_change(GpuId gpu) override { step_.units_.before_change(gpu); }
    void after_change(GpuId gpu) override {
      step_.units_.after_change(gpu);
      for (const TrafficClass traffic : kTrafficClasses) {
        int& peak = peaks[static_cast<std::size_t>(traffic)];
        peak = std::max(peak, step_.sms_.held(gpu, traffic));
      }
      if (!keeps_ || gpu != GpuId(0)) return;
      SmSample sample{.time = step_.fabric_.now()};
      for (const TrafficClass traffic : kTrafficClasses) {
        sample.held[static_cast<std::size_t>(traffic)] = step_.sms_.held(gpu, traffic);
      }
      samples.push_back(sample);
    }
    std::array<int, kTrafficClassCount> peaks{};
    std::vector<SmSample> samples;

   private:
    Step& step_;
    bool keeps_;
  };

  static Bytes slot_size(const TrainingScenario& scenario) {
    const bool rival = kind_of(scenario.system) != SystemKind::kHoccl;
    return rival ? Bytes(std::int64_t{4} << 20) : scenario.compile.chunk_size;
  }

  ComputeUnits make_units() {
    std::vector<std::unique_ptr<ComputeUnit>> units;
    for (int number = 0; number < scenario_.topology.gpu_count(); ++number) {
      const GpuId gpu(number);
      units.push_back(std::make_unique<ComputeUnit>(fabric_.clock(), sms_, gpu, contention_,
                                                    [this, gpu] { return memory_traffic(gpu); }));
    }
    return ComputeUnits(std::move(units));
  }
  ComputeUnit& unit(Rank rank) { return units_.of(scenario_.topology.gpu_of(rank)); }

  /// What copy engines and NICs move. What kernels move is part of what holding SMs costs: the
  /// paper's line is measured with it.
  Bytes memory_traffic(GpuId gpu) {
    const LinkMap& links = fabric_.links();
    const Network& network = fabric_.network();
    const int device = scenario_.topology.gpu(gpu).physical;
    Bytes bytes =
        network.carried(links.nvlink_out(device)) + network.carried(links.nvlink_in(device));
    for (const engine::NicId nic : scenario_.topology.nics_of(gpu)) {
      bytes += network.carried(links.nic_send(nic)) + network.carried(links.nic_receive(nic));
    }
    return bytes - system_->moved_by_kernels(gpu);
  }

  void require_ended() const {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (!threads_[i]->has_ended()) {
        throw RunError(
            fmt::format("rank {} did not end its step: messages or collectives wait for "
                        "each other",
                        i));
      }
    }
    for (const auto& thread : threads_) {
      if (const std::string error = thread->first_error(); !error.empty()) throw RunError(error);
    }
    HOCCL_CHECK(system_->is_quiescent(), "the step ended, but left work behind: rank 0 at {}",
                threads_.front()->record().end.count());
  }

  void collect(TrainingResult& result);
  void collect_contention(TrainingResult& result);
  void collect_times(TrainingResult& result);
  void check_bound(TrainingResult& result);

  const TrainingScenario& scenario_;
  SimFabric fabric_;
  SmPool sms_;
  SmContention contention_;
  std::unique_ptr<TrainingSystem> system_;
  ComputeUnits units_;
  Sampler sampler_;
  std::vector<StepProgram> programs_;
  std::vector<std::unique_ptr<LaunchThread>> threads_;
};

void Step::collect(TrainingResult& result) {
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const Rank rank(static_cast<int>(i));
    result.ranks.push_back(threads_[i]->record());
    result.accounts.push_back(unit(rank).account());
    result.step = std::max(result.step, result.ranks.back().end);
  }
  const ParallelLayout& layout = scenario_.setup.layout;
  const std::int64_t samples = std::int64_t{layout.microbatch} * layout.microbatches * layout.data;
  result.tokens_per_second =
      static_cast<double>(samples * scenario_.setup.model.sequence) / result.step.count();
  result.tflops_per_gpu =
      step_operations(scenario_.setup.model, samples) / result.step.count() / layout.ranks() / 1e12;
  collect_contention(result);
  collect_times(result);
  result.peak_sms = sampler_.peaks;
  result.sms = sampler_.samples;
  check_bound(result);
}

void Step::collect_contention(TrainingResult& result) {
  std::array<double, kPhaseCount> active{};
  std::array<double, kPhaseCount> held{};
  std::array<double, kTrafficClassCount> by_class{};
  for (const ComputeAccount& account : result.accounts) {
    for (const Phase each : {Phase::kForward, Phase::kBackward}) {
      const auto phase = static_cast<std::size_t>(each);
      const ComputeAccount::OfPhase& part = account.phases[phase];
      active[phase] += part.active.count();
      result.compute += part.active;
      result.compute_alone += part.alone;
      for (std::size_t traffic = 0; traffic < kTrafficClassCount; ++traffic) {
        held[phase] += part.held[traffic];
        by_class[traffic] += part.held[traffic];
      }
    }
  }
  const auto ranks = static_cast<double>(result.accounts.size());
  const double sms = contention_.sms;
  const double all = std::accumulate(active.begin(), active.end(), 0.0);
  const auto share = [sms](double sm_seconds, double seconds) {
    return seconds > 0.0 ? sm_seconds / (sms * seconds) : 0.0;
  };
  for (std::size_t traffic = 0; traffic < kTrafficClassCount; ++traffic) {
    result.contention[traffic] = share(by_class[traffic], all);
    result.isum += result.contention[traffic];
  }
  result.isum_forward = share(held[0], active[0]);
  result.isum_backward = share(held[1], active[1]);
  result.overlapped_sms =
      sms * (result.contention[static_cast<std::size_t>(TrafficClass::kPipeline)] +
             result.contention[static_cast<std::size_t>(TrafficClass::kData)]);
  result.compute /= ranks;
  result.compute_alone /= ranks;
}

void Step::collect_times(TrainingResult& result) {
  const auto ranks = static_cast<double>(result.ranks.size());
  std::array<double, 2> pass_counts{};
  std::array<std::int64_t, kTrafficClassCount> counts{};
  for (std::size_t i = 0; i < result.ranks.size(); ++i) {
    const RankRecord& record = result.ranks[i];
    for (const RankRecord::Pass& pass : record.passes) {
      (pass.slot.forward ? result.forward : result.backward) += pass.end - pass.begin;
      pass_counts[pass.slot.forward ? 0 : 1] += 1.0;
    }
    for (std::size_t traffic = 0; traffic < kTrafficClassCount; ++traffic) {
      const RankRecord::Operations& operations = record.operations[traffic];
      result.exposed[traffic] += record.exposed[traffic] / ranks;
      result.operation[traffic] += operations.time;
      counts[traffic] += operations.count;
      result.longest_operation[traffic] =
          std::max(result.longest_operation[traffic], operations.longest);
    }
    result.slack.insert(result.slack.end(), record.slack.begin(), record.slack.end());
    result.registration += record.registration / ranks;
    const Rank rank(static_cast<int>(i));
    result.launch_busy = std::max(result.launch_busy, fabric_.launch_time(rank) / result.step);
    result.proxy_busy = std::max(result.proxy_busy, system_->proxy_time(rank) / result.step);
  }
  // Foreground communication is on the compute stream.
  const Seconds foreground = (result.operation[static_cast<std::size_t>(TrafficClass::kTensor)] +
                              result.operation[static_cast<std::size_t>(TrafficClass::kExpert)]) /
                             ranks;
  Seconds other{0.0};
  for (const ComputeAccount& account : result.accounts) {
    other += account.phases[static_cast<std::size_t>(Phase::kOther)].active / ranks;
  }
  result.bubble = 1.0 - (result.compute + foreground) / (result.step - other);
  for (std::size_t traffic = 0; traffic < kTrafficClassCount; ++traffic) {
    if (counts[traffic] > 0) result.operation[traffic] /= static_cast<double>(counts[traffic]);
  }
  result.forward /= pass_counts[0];
  result.backward /= pass_counts[1];
  std::ranges::sort(result.slack);
}

void Step::check_bound(TrainingResult& result) {
  for (const ComputeAccount& account : result.accounts) {
    Seconds alone{0.0};
    for (const auto& phase : account.phases) alone += phase.alone;
    result.bound = std::max(result.bound, alone);
  }
  for (const LinkUse& link : fabric_.link_use()) {
    result.bound = std::max(result.bound, link.carried / link.capacity);
  }
  for (int number = 0; number < scenario_.setup.layout.ranks(); ++number) {
    const Rank rank(number);
    result.bound = std::max({result.bound, fabric_.launch_time(rank), system_->proxy_time(rank)});
    for (const engine::CopyClass engine : engine::kCopyClasses) {
      result.bound = std::max(result.bound, fabric_.copy_engine_busy(rank, engine));
    }
  }
  HOCCL_CHECK(result.step >= result.bound * (1.0 - 1e-9), "a step of {} ms, its bound is {} ms",
              1e3 * result.step.count(), 1e3 * result.bound.count());
}

}  // namespace

void require_trainable(const TrainingScenario& scenario) {
  if (scenario.system != "nccl") kind_of(scenario.system);
  // Reductions and tensor parallelism are NCCL's kernels in every system.
  require_nccl_topology(scenario.topology);
  require_layout(scenario.setup.layout, scenario.setup.model, scenario.topology);
}

TrainingScenario with_kernels_of_system(TrainingScenario scenario) {
  if (scenario.system != "nccl" && kind_of(scenario.system) == SystemKind::kNcclKernels) {
    scenario.setup.sms.pipeline = scenario.setup.sms.data = parse_nccl_channels(scenario.system);
  }
  return scenario;
}

TrainingResult train(const TrainingScenario& scenario, const TrainingOutputs& outputs) {
  require_trainable(scenario);
  TrainingScenario own = with_kernels_of_system(scenario);
  if (own.system == "nccl") own.system = fmt::format("nccl:{}sm", own.setup.sms.pipeline);
  TrainingResult result = Step(own, outputs).run();
  result.memory = memory_use(own.setup, Rank(0), own.length_spread, own.seed, kStepsForMemory);
  return result;
}

}  // namespace hoccl::sim
