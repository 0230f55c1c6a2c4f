#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/units.h"
#include "engine/collective_system.h"
#include "engine/communicator.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/bounds.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/rates.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/run/scenario.h"
#include "sim/run/system.h"

namespace hoccl::sim {

/// What each rank of a scenario calls at one size, with buffers of the fabric. The same buffers are
/// used in every iteration, as by nccl-tests.
class Workload {
 public:
  /// The fabric must outlive it.
  Workload(const Scenario& scenario, engine::Bytes size, SimFabric& fabric);

  /// Ranks that call anything.
  [[nodiscard]] const std::vector<engine::Rank>& ranks() const { return ranks_; }
  std::shared_ptr<engine::Work> enqueue(System& system, engine::Rank rank, engine::StreamId stream);

 private:
  struct Buffers {
    engine::Region send;
    engine::Region receive;
  };
  void allocate(SimFabric& fabric, std::span<const engine::Flow> flows);
  void use_plans(const Scenario& scenario, const engine::Pattern& pattern);

  // What is called is the first of these that is there.
  std::vector<std::shared_ptr<const engine::Plan>> plans_;  ///< by rank
  std::optional<engine::CollectiveRequest> collective_;     ///< without buffers and counts
  std::vector<engine::Flow> flows_;                         ///< as sends and receives
  std::vector<Buffers> buffers_;                            ///< by rank
  std::vector<engine::Rank> ranks_;
  engine::MemberList members_;
  engine::Traffic traffic_;
  std::shared_ptr<const engine::TrafficMatrix> matrix_;  ///< alltoallv
  bool all_know_the_counts_ = false;
};

/// The pattern of the scenario at one size; of a saved plan, what it moves. Throws ConfigError.
engine::Pattern pattern_of(const Scenario& scenario, engine::Bytes size);

/// Lower bound on the time of any run of this scenario, at these rates.
engine::Bound bound_of(const Scenario& scenario, const engine::Pattern& pattern,
                       const engine::Rates& rates);

}  // namespace hoccl::sim
