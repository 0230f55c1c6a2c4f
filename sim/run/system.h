#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/collective_system.h"
#include "engine/communicator.h"
#include "engine/schedule/plan.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/run/scenario.h"

namespace hoccl::sim {

/// One rank's share of a plan.
struct PlanCall {
  std::shared_ptr<const engine::Plan> plan;
  engine::Region send;
  engine::Region receive;
  engine::MemberList members;
};

/// A system under study with all its ranks, on one simulated machine.
class System {
 public:
  virtual ~System() = default;

  /// What the rank's application calls.
  virtual engine::CollectiveSystem& rank(engine::Rank rank) = 0;
  /// The rank's part of a plan; only HOCCL executes plans.
  virtual std::shared_ptr<engine::Work> run(engine::Rank rank, const PlanCall& call,
                                            engine::StreamId stream) = 0;

  // CPU time since the start, by rank; see RunResult for what each counts.
  [[nodiscard]] virtual engine::Seconds launch_time(engine::Rank rank) const = 0;
  [[nodiscard]] virtual engine::Seconds submit_time(engine::Rank rank) const = 0;
  [[nodiscard]] virtual engine::Seconds proxy_time(engine::Rank rank) const = 0;

  /// Most SMs held at once on any GPU since the last call of reset_peak().
  [[nodiscard]] virtual int sm_peak() const = 0;
  virtual void reset_peak() = 0;
  /// Nothing is in flight and nothing is held.
  [[nodiscard]] virtual bool is_quiescent() const = 0;
};

/// The scenario's system on `fabric`, which must outlive it.
std::unique_ptr<System> make_system(const Scenario& scenario, SimFabric& fabric);
std::unique_ptr<System> make_hoccl_system(const Scenario& scenario, SimFabric& fabric);
std::unique_ptr<System> make_nccl_system(const Scenario& scenario, SimFabric& fabric);
std::unique_ptr<System> make_copy_engine_rival(const Scenario& scenario, SimFabric& fabric);

}  // namespace hoccl::sim
