#include "sim/train/training_system.h"

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/check.h"
#include "engine/communicator.h"
#include "engine/pipeline/proxy.h"
#include "sim/rivals/nccl_zero.h"
#include "sim/rivals/stepped_rank.h"
#include "sim/rivals/vccl.h"
#include "sim/run/nccl_environment_of.h"
#include "sim/run/system_kind.h"

namespace hoccl::sim {
namespace {

using engine::CollectiveSystem;
using engine::FlowClass;
using engine::Rank;
using engine::Seconds;

// Identifiers of communicators: the pipeline's are over all ranks, of the others there are as many
// as groups.
constexpr std::array kPipelineIds = {2, 1};          // by direction, 1: forward
constexpr std::array kFirstDataIds = {1000, 10000};  // by whether of experts
constexpr int kFirstExpertId = 20000;
constexpr int kFirstTensorId = 30000;
constexpr std::array kFirstReductionIds = {40000, 50000};
constexpr int kEverybodyId = 60000;

/// A group is told apart by its first rank.
int id_of(int first_id, const std::vector<Rank>& group) { return first_id + group.front().value(); }

std::vector<Rank> data_group_of(const ParallelLayout& layout, Rank rank, bool experts) {
  return experts ? expert_data_group(layout, rank) : data_group(layout, rank);
}

/// NCCL's kernels for everything.
class KernelSystem : public TrainingSystem {
 public:
  KernelSystem(const TrainingScenario& scenario, SimFabric& fabric, SmPool& sms)
      : fabric_(fabric),
        flows_(
            nccl_environment_of(fabric, scenario.calibration.nccl, Seconds(0.0)), sms,
            [&fabric](Rank rank) -> SimPort& { return fabric.sim_port(rank); },
            static_cast<int>(scenario.calibration.gpu.sms), !scenario.communication) {
    const ParallelLayout& layout = scenario.setup.layout;
    const KernelSms& held = scenario.setup.sms;
    std::vector<Rank> all;
    for (int number = 0; number < layout.ranks(); ++number) all.emplace_back(number);
    for (const Rank rank : all) {
      const auto add = [&](auto& to, int id, std::vector<Rank> members, TrafficClass traffic,
                           int channels, bool holds_sms = true) {
        to.push_back(std::make_unique<NcclFlowRank>(
            flows_, NcclFlowGroup{id, std::move(members), traffic, channels, holds_sms}, rank));
      };
      const std::vector<Rank> expert = expert_group(layout, rank);
      const std::vector<Rank> tensor = tensor_group(layout, rank);
      for (std::size_t i = 0; i < kPipelineIds.size(); ++i) {
        add(pipeline_[i], kPipelineIds[i], all, TrafficClass::kPipeline, held.pipeline);
      }
      for (const bool experts : {false, true}) {
        const std::vector<Rank> data = data_group_of(layout, rank, experts);
        add(data_[experts], id_of(kFirstDataIds[experts], data), data, TrafficClass::kData,
            held.data);
        add(reduction_[experts], id_of(kFirstReductionIds[experts], data), data,
            TrafficClass::kData, held.data, !scenario.ideal_reduce);
      }
      add(expert_, id_of(kFirstExpertId, expert), expert, TrafficClass::kExpert, held.expert);
      add(tensor_, id_of(kFirstTensorId, tensor), tensor, TrafficClass::kTensor, held.tensor);
      add(everybody_, kEverybodyId, all, TrafficClass::kOther, 1);
    }
  }

  CollectiveSystem& pipeline(Rank rank, bool forward) override {
    return *pipeline_[forward][rank.index()];
  }
  CollectiveSystem& data(Rank rank, bool experts) override { return *data_[experts][rank.index()]; }
  CollectiveSystem& expert(Rank rank) override { return *expert_[rank.index()]; }
  NcclFlowRank& tensor(Rank rank) override { return *tensor_[rank.index()]; }
  NcclFlowRank& reduction(Rank rank, bool experts) override {
    return *reduction_[experts][rank.index()];
  }
  NcclFlowRank& everybody(Rank rank) override { return *everybody_[rank.index()]; }

  [[nodiscard]] bool has_priority_switch() const override { return false; }
  Seconds registration(Rank) override { return Seconds(0.0); }
  [[nodiscard]] Seconds proxy_time(Rank) const override { return Seconds(0.0); }
  [[nodiscard]] engine::Bytes moved_by_kernels(engine::GpuId gpu) const override {
    return flows_.moved(gpu);
  }
  [[nodiscard]] bool is_quiescent() const override { return flows_.is_quiescent(); }

 protected:
  SimFabric& fabric_;

 private:
  using Ranks = std::vector<std::unique_ptr<NcclFlowRank>>;
  NcclFlows flows_;
  std::array<Ranks, 2> pipeline_;          ///< by direction
  std::array<Ranks, 2> data_, reduction_;  ///< by whether of experts
  Ranks expert_, tensor_, everybody_;
};

/// Proxies and communicators of the engine for what a system moves without SMs.
class ProxySystem : public KernelSystem {
 public:
  ProxySystem(const TrainingScenario& scenario, SimFabric& fabric, SmPool& sms,
              const engine::CompileOptions& compile, const engine::PipelineOptions& pipeline,
              FlowClass flow_class)
      : KernelSystem(scenario, fabric, sms),
        layout_(scenario.setup.layout),
        compile_(compile),
        flow_class_(flow_class),
        caches_(std::make_shared<engine::PlanCaches>(fabric.topology(), layout_.ranks())) {
    std::vector<engine::Proxy*> proxies;
    for (int number = 0; number < layout_.ranks(); ++number) {
      proxies_.push_back(std::make_unique<engine::Proxy>(fabric.port(Rank(number)), pipeline));
      proxies.push_back(proxies_.back().get());
    }
    fabric.run(proxies);  // nothing is submitted yet: only lets the proxies be woken from now on
  }

  [[nodiscard]] Seconds proxy_time(Rank rank) const override {
    return fabric_.proxy_time(rank).total();
  }
  [[nodiscard]] bool is_quiescent() const override {
    for (const auto& proxy : proxies_) {
      if (!proxy->quiescent()) return false;
    }
    return KernelSystem::is_quiescent();
  }

 protected:
  using Communicators = std::vector<std::unique_ptr<engine::Communicator>>;

  std::array<Communicators, 2> pipeline_communicators() {
    std::array<Communicators, 2> result;
    for (std::size_t i = 0; i < kPipelineIds.size(); ++i) {
      for (int number = 0; number < layout_.ranks(); ++number) {
        result[i].push_back(communicator(Rank(number), kPipelineIds[i], {}, flow_class_));
      }
    }
    return result;
  }
  std::array<Communicators, 2> data_communicators() {
    std::array<Communicators, 2> result;
    for (const bool experts : {false, true}) {
      for (int number = 0; number < layout_.ranks(); ++number) {
        const std::vector<Rank> group = data_group_of(layout_, Rank(number), experts);
        result[experts].push_back(
            communicator(Rank(number), id_of(kFirstDataIds[experts], group), group, flow_class_));
      }
    }
    return result;
  }
  /// In the foreground: on the compute stream, where everybody waits for it.
  Communicators expert_communicators() {
    Communicators result;
    for (int number = 0; number < layout_.ranks(); ++number) {
      const std::vector<Rank> group = expert_group(layout_, Rank(number));
      result.push_back(
          communicator(Rank(number), id_of(kFirstExpertId, group), group, FlowClass::kForeground));
    }
    return result;
  }

  ParallelLayout layout_;

 private:
  std::unique_ptr<engine::Communicator> communicator(Rank rank, int id, std::vector<Rank> group,
                                                     FlowClass flow_class) {
    return std::make_unique<engine::Communicator>(fabric_.port(rank),
                                                  static_cast<std::uint16_t>(id), compile_, caches_,
                                                  std::move(group), flow_class);
  }

  engine::CompileOptions compile_;
  FlowClass flow_class_;
  std::shared_ptr<engine::PlanCaches> caches_;
  std::vector<std::unique_ptr<engine::Proxy>> proxies_;
};

/// Messages, AllGather and AllToAll by HOCCL; reductions and tensor parallelism by NCCL (paper §4,
/// §6.1).
class HocclTraining : public ProxySystem {
 public:
  HocclTraining(const TrainingScenario& scenario, SimFabric& fabric, SmPool& sms)
      : ProxySystem(scenario, fabric, sms, scenario.compile, scenario.pipeline,
                    scenario.priority_switch ? FlowClass::kBackground : FlowClass::kForeground),
        priority_switch_(scenario.priority_switch),
        pipeline_(pipeline_communicators()),
        data_(data_communicators()),
        expert_(expert_communicators()) {}

  CollectiveSystem& pipeline(Rank rank, bool forward) override {
    return *pipeline_[forward][rank.index()];
  }
  CollectiveSystem& data(Rank rank, bool experts) override { return *data_[experts][rank.index()]; }
  CollectiveSystem& expert(Rank rank) override { return *expert_[rank.index()]; }
  [[nodiscard]] bool has_priority_switch() const override { return priority_switch_; }

 private:
  bool priority_switch_;
  std::array<Communicators, 2> pipeline_, data_;
  Communicators expert_;
};

/// What a rival posts depends on whether messages leave their node: some of a step's do, where
/// there are several nodes.
Scenario as_scenario(const TrainingScenario& scenario) {
  Scenario result{.topology = scenario.topology,
                  .calibration = scenario.calibration,
                  .system = scenario.system,
                  .compile = scenario.compile,
                  .pipeline = scenario.pipeline};
  result.traffic.request.source = Rank(0);
  result.traffic.request.target = Rank(scenario.topology.rank_count() - 1);
  return result;
}

/// Messages and AllToAll by VCCL: registered buffers, a host function before and behind each call.
/// Other collectives run NCCL's kernels there.
class VcclTraining : public ProxySystem {
 public:
  VcclTraining(const TrainingScenario& scenario, SimFabric& fabric, SmPool& sms,
               const Scenario& plan)
      : ProxySystem(scenario, fabric, sms, plan.compile, plan.pipeline, FlowClass::kForeground),
        steps_(fabric.clock(), layout_.ranks(), scenario.calibration, {}),
        registrations_(scenario.calibration.registration,
                       {.every_operation = scenario.dynamic_buffers,
                        .busy_share = scenario.busy_driver,
                        .seed = scenario.seed}),
        communicators_(pipeline_communicators()),
        expert_communicators_(expert_communicators()) {
    for (int number = 0; number < layout_.ranks(); ++number) {
      const Rank rank(number);
      expert_.push_back(std::make_unique<SteppedRank>(fabric, *expert_communicators_[rank.index()],
                                                      steps_, rank));
    }
    for (std::size_t i = 0; i < pipeline_.size(); ++i) {
      for (int number = 0; number < layout_.ranks(); ++number) {
        const Rank rank(number);
        pipeline_[i].push_back(
            std::make_unique<SteppedRank>(fabric, *communicators_[i][rank.index()], steps_, rank));
      }
    }
  }

  CollectiveSystem& pipeline(Rank rank, bool forward) override {
    return *pipeline_[forward][rank.index()];
  }
  CollectiveSystem& expert(Rank rank) override { return *expert_[rank.index()]; }
  Seconds registration(Rank) override { return registrations_.next(); }

 private:
  VcclHostFunctions steps_;
  Registrations registrations_;
  std::array<Communicators, 2> communicators_;
  Communicators expert_communicators_;
  std::vector<std::unique_ptr<SteppedRank>> expert_;
  std::array<std::vector<std::unique_ptr<SteppedRank>>, 2> pipeline_;
};

/// AllGather by NCCL's copy-engine collectives: parameters lie in windows that are registered once.
/// Sends and receives launch kernels there, and so does an AllToAll of activations, which lie in no
/// window.
class ZeroTraining : public ProxySystem {
 public:
  ZeroTraining(const TrainingScenario& scenario, SimFabric& fabric, SmPool& sms,
               const Scenario& plan)
      : ProxySystem(scenario, fabric, sms, plan.compile, plan.pipeline, FlowClass::kForeground),
        communicators_(data_communicators()) {
    for (const bool experts : {false, true}) {
      for (int number = 0; number < layout_.ranks(); ++number) {
        const Rank rank(number);
        const std::vector<Rank> group = data_group_of(layout_, rank, experts);
        auto& barriers = barriers_[{experts, group.front()}];
        if (barriers == nullptr) {
          barriers = std::make_unique<NcclZeroBarriers>(fabric.clock(), fabric.topology(),
                                                        scenario.calibration, group);
        }
        data_[experts].push_back(std::make_unique<SteppedRank>(
            fabric, *communicators_[experts][rank.index()], *barriers, rank));
      }
    }
  }

  CollectiveSystem& data(Rank rank, bool experts) override { return *data_[experts][rank.index()]; }

 private:
  std::array<Communicators, 2> communicators_;
  /// By whether of experts, and the group's first rank.
  std::map<std::pair<bool, Rank>, std::unique_ptr<NcclZeroBarriers>> barriers_;
  std::array<std::vector<std::unique_ptr<SteppedRank>>, 2> data_;
};

}  // namespace

std::unique_ptr<TrainingSystem> make_training_system(const TrainingScenario& scenario,
                                                     SimFabric& fabric, SmPool& sms) {
  if (!scenario.communication) return std::make_unique<KernelSystem>(scenario, fabric, sms);
  switch (kind_of(scenario.system)) {
    case SystemKind::kHoccl:
      return std::make_unique<HocclTraining>(scenario, fabric, sms);
    case SystemKind::kNcclKernels:
      return std::make_unique<KernelSystem>(scenario, fabric, sms);
    case SystemKind::kNcclZero:
      return std::make_unique<ZeroTraining>(scenario, fabric, sms,
                                            rival_plan(as_scenario(scenario)));
    case SystemKind::kVccl:
      return std::make_unique<VcclTraining>(scenario, fabric, sms,
                                            rival_plan(as_scenario(scenario)));
  }
  HOCCL_CHECK(false, "system {}", scenario.system);
  return nullptr;
}

}  // namespace hoccl::sim
