#include <memory>
#include <vector>

#include "sim/fabric/sim_port.h"
#include "sim/rivals/nccl_zero.h"
#include "sim/rivals/vccl.h"
#include "sim/run/system.h"
#include "sim/run/system_kind.h"

namespace hoccl::sim {
namespace {

using engine::Rank;
using engine::Seconds;
using engine::StreamId;

/// A rank whose operations have steps on the stream before and behind them.
class SteppedRank : public engine::CollectiveSystem {
 public:
  SteppedRank(SimFabric& fabric, engine::CollectiveSystem& inner, StreamSteps& steps, Rank rank)
      : fabric_(fabric), inner_(inner), steps_(steps), rank_(rank) {}
  SteppedRank(const SteppedRank&) = delete;
  SteppedRank& operator=(const SteppedRank&) = delete;

  std::shared_ptr<engine::Work> enqueue(std::span<const engine::SendRecvRequest> group,
                                        StreamId stream) override {
    return between_steps(stream, [&] { return inner_.enqueue(group, stream); });
  }
  std::shared_ptr<engine::Work> enqueue(const engine::CollectiveRequest& request,
                                        StreamId stream) override {
    return between_steps(stream, [&] { return inner_.enqueue(request, stream); });
  }

 private:
  template <class Enqueue>
  std::shared_ptr<engine::Work> between_steps(StreamId stream, const Enqueue& enqueue) {
    const auto id = static_cast<std::uint64_t>(stream.value());
    SimPort& port = fabric_.sim_port(rank_);
    port.enqueue_external(stream, Callback::to<&SteppedRank::before>(*this, id));
    std::shared_ptr<engine::Work> work = enqueue();
    port.enqueue_external(stream, Callback::to<&SteppedRank::after>(*this, id));
    return work;
  }
  GpuStream& stream(std::uint64_t id) {
    return fabric_.gpu_stream(rank_, StreamId(static_cast<std::int32_t>(id)));
  }
  void before(std::uint64_t id) { steps_.before(rank_, stream(id)); }
  void after(std::uint64_t id) { steps_.after(rank_, stream(id)); }

  SimFabric& fabric_;
  engine::CollectiveSystem& inner_;
  StreamSteps& steps_;
  Rank rank_;
};

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
