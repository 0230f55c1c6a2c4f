#include <utility>
#include <vector>

#include "engine/communicator.h"
#include "engine/pipeline/proxy.h"
#include "sim/run/system.h"

namespace hoccl::sim {
namespace {

using engine::Rank;
using engine::Seconds;

constexpr std::uint16_t kCommunicator = 1;

/// HOCCL itself: the engine's communicators and proxies, nothing of them simulated but the machine.
class HocclSystem : public System {
 public:
  HocclSystem(const Scenario& scenario, SimFabric& fabric) : fabric_(fabric) {
    std::vector<engine::Proxy*> proxies;
    const int ranks = fabric.topology().rank_count();
    // All ranks are in this process, so the plan of a node is compiled once for all of them.
    const auto caches = std::make_shared<engine::PlanCaches>(fabric.topology(), ranks);
    for (int number = 0; number < ranks; ++number) {
      engine::Port& port = fabric.port(Rank(number));
      proxies_.push_back(std::make_unique<engine::Proxy>(port, scenario.pipeline));
      proxies.push_back(proxies_.back().get());
      communicators_.push_back(
          std::make_unique<engine::Communicator>(port, kCommunicator, scenario.compile, caches));
    }
    fabric.run(proxies);  // nothing is submitted yet: only lets the proxies be woken from now on
  }

  engine::CollectiveSystem& rank(Rank rank) override { return *communicators_[rank.index()]; }

  std::shared_ptr<engine::Work> run(Rank rank, const PlanCall& call,
                                    engine::StreamId stream) override {
    return communicators_[rank.index()]->run(call.plan, call.send, call.receive, stream,
                                             call.members);
  }

  [[nodiscard]] Seconds launch_time(Rank rank) const override { return fabric_.launch_time(rank); }
  [[nodiscard]] Seconds submit_time(Rank rank) const override { return fabric_.submit_time(rank); }
  [[nodiscard]] Seconds proxy_time(Rank rank) const override {
    return fabric_.proxy_time(rank).total();
  }

  // The engine has no kernels, and the verifier lets no leg stay within one GPU, so no SM copies.
  [[nodiscard]] int sm_peak() const override { return 0; }
  void reset_peak() override {}
  [[nodiscard]] bool is_quiescent() const override {
    for (const auto& proxy : proxies_) {
      if (!proxy->quiescent()) return false;
    }
    return true;
  }

 private:
  SimFabric& fabric_;
  std::vector<std::unique_ptr<engine::Proxy>> proxies_;               ///< by rank
  std::vector<std::unique_ptr<engine::Communicator>> communicators_;  ///< by rank
};

}  // namespace

std::unique_ptr<System> make_hoccl_system(const Scenario& scenario, SimFabric& fabric) {
  return std::make_unique<HocclSystem>(scenario, fabric);
}

}  // namespace hoccl::sim
