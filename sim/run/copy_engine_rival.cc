#include <memory>
#include <vector>

#include "sim/rivals/nccl_zero.h"
#include "sim/rivals/stepped_rank.h"
#include "sim/rivals/vccl.h"
#include "sim/run/system.h"
#include "sim/run/system_kind.h"

namespace hoccl::sim {
namespace {

using engine::Rank;
using engine::Seconds;
using engine::StreamId;

std::unique_ptr<StreamSteps> steps_of(const Scenario& scenario, SimFabric& fabric) {
  if (kind_of(scenario.system) == SystemKind::kNcclZero) {
    return std::make_unique<NcclZeroBarriers>(
        fabric.clock(), fabric.topology(), scenario.calibration,
        engine::members_of(scenario.traffic, fabric.topology().rank_count()));
  }
  return std::make_unique<VcclHostFunctions>(
      fabric.clock(), fabric.topology().rank_count(), scenario.calibration,
      RegistrationLoad{.every_operation = scenario.dynamic_buffers,
                       .busy_share = scenario.busy_driver,
                       .seed = scenario.seed});
}

/// A rival that posts copies and writes as HOCCL does, by the same proxies over the same ports, but
/// a plan of its own, with its own steps on the stream.
class CopyEngineRival : public System {
 public:
  CopyEngineRival(const Scenario& scenario, SimFabric& fabric)
      : inner_(make_hoccl_system(rival_plan(scenario), fabric)),
        steps_(steps_of(scenario, fabric)) {
    for (int number = 0; number < fabric.topology().rank_count(); ++number) {
      const Rank rank(number);
      ranks_.push_back(std::make_unique<SteppedRank>(fabric, inner_->rank(rank), *steps_, rank));
    }
  }

  engine::CollectiveSystem& rank(Rank rank) override { return *ranks_[rank.index()]; }
  std::shared_ptr<engine::Work> run(Rank rank, const PlanCall& call, StreamId stream) override {
    return inner_->run(rank, call, stream);
  }
  [[nodiscard]] Seconds launch_time(Rank rank) const override { return inner_->launch_time(rank); }
  [[nodiscard]] Seconds submit_time(Rank rank) const override { return inner_->submit_time(rank); }
  [[nodiscard]] Seconds proxy_time(Rank rank) const override { return inner_->proxy_time(rank); }
  [[nodiscard]] int sm_peak() const override { return inner_->sm_peak(); }
  void reset_peak() override { inner_->reset_peak(); }
  [[nodiscard]] bool is_quiescent() const override { return inner_->is_quiescent(); }

 private:
  std::unique_ptr<System> inner_;
  std::unique_ptr<StreamSteps> steps_;
  std::vector<std::unique_ptr<SteppedRank>> ranks_;
};

}  // namespace

std::unique_ptr<System> make_copy_engine_rival(const Scenario& scenario, SimFabric& fabric) {
  return std::make_unique<CopyEngineRival>(scenario, fabric);
}

}  // namespace hoccl::sim
