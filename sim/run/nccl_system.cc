#include <vector>

#include "engine/base/check.h"
#include "sim/rivals/nccl_rank.h"
#include "sim/run/nccl_environment_of.h"
#include "sim/run/system.h"
#include "sim/run/system_kind.h"

namespace hoccl::sim {
namespace {

using engine::GpuId;
using engine::Rank;
using engine::Seconds;

class NcclSystem : public System {
 public:
  NcclSystem(const Scenario& scenario, SimFabric& fabric)
      : topology_(fabric.topology()),
        job_(nccl_environment_of(fabric, kernel_constants(scenario),
                                 stages_on_sms(scenario)
                                     ? scenario.calibration.vccl.host_function_end
                                     : Seconds(0.0)),
             {.channels = kernel_channels(scenario),
              .ring_nics = scenario.compile.nics,
              .pxn = uses_pxn(scenario)}) {
    for (int number = 0; number < topology_.rank_count(); ++number) {
      ranks_.push_back(std::make_unique<NcclRank>(job_, Rank(number)));
    }
  }

  engine::CollectiveSystem& rank(Rank rank) override { return *ranks_[rank.index()]; }

  std::shared_ptr<engine::Work> run(Rank rank, const PlanCall&, engine::StreamId) override {
    HOCCL_CHECK(false, "rank {}: NCCL executes no plans", rank);
  }

  [[nodiscard]] Seconds launch_time(Rank rank) const override { return job_.launch_time(rank); }
  [[nodiscard]] Seconds submit_time(Rank rank) const override { return job_.submit_time(rank); }
  [[nodiscard]] Seconds proxy_time(Rank rank) const override { return job_.proxy_time(rank); }

  [[nodiscard]] int sm_peak() const override { return job_.sms().peak(); }
  void reset_peak() override { job_.sms().reset_peak(); }
  [[nodiscard]] bool is_quiescent() const override {
    for (int gpu = 0; gpu < topology_.gpu_count(); ++gpu) {
      if (job_.sms().held(GpuId(gpu)) != 0) return false;
    }
    return true;
  }

 private:
  const engine::Topology& topology_;
  NcclJob job_;
  std::vector<std::unique_ptr<NcclRank>> ranks_;
};

}  // namespace

std::unique_ptr<System> make_nccl_system(const Scenario& scenario, SimFabric& fabric) {
  return std::make_unique<NcclSystem>(scenario, fabric);
}

}  // namespace hoccl::sim
