// The conformance suites on SimFabric, with both network models. There is no memory behind its
// buffers: who may touch what when is what is checked here, the bytes on IdealFabric.

#include <memory>
#include <optional>

#include "sim/calibration/calibration.h"
#include "sim/fabric/sim_fabric.h"
#include "tests/fabric/conformance.h"

namespace hoccl::engine {
namespace {

class SimUnderTest final : public FabricUnderTest {
 public:
  SimUnderTest(const FabricSettings& settings, sim::NetworkKind network)
      : topology_(resolve_topology(settings.topology).with_ranks(settings.ranks)) {
    EXPECT_EQ(settings.send_slots, settings.receive_slots);
    options_.network = network;
    options_.slots = settings.send_slots;
    options_.slot_size = settings.slot_size;
  }

  Fabric& fabric() override { return sim_fabric(); }
  [[nodiscard]] const Topology& topology() const override { return topology_; }
  BufferHandle allocate(Rank owner, Bytes size) override {
    return sim_fabric().allocate(owner, size);
  }
  void fill(const Region& /*region*/, std::uint64_t /*message*/) override {}
  [[nodiscard]] bool holds(const Region& /*region*/, std::uint64_t /*message*/) override {
    return true;
  }
  void run(std::span<Proxy* const> proxies) override {
    if (proxies.empty()) {
      sim_fabric().run();
    } else {
      sim_fabric().run(proxies);
    }
  }

 private:
  /// Built when it is first needed: a process holds one simulation, but a test that makes a fabric
  /// with other settings than its fixture never uses the fixture's.
  sim::SimFabric& sim_fabric() {
    if (!fabric_) fabric_.emplace(topology_, sim::calibration_for(topology_), options_);
    return *fabric_;
  }

  const Topology topology_;
  sim::SimOptions options_;
  std::optional<sim::SimFabric> fabric_;
};

FabricFactory simulated(const std::string& name, sim::NetworkKind network) {
  return {name, [network](const FabricSettings& settings) {
            return std::make_unique<SimUnderTest>(settings, network);
          }};
}

const auto kFabrics = testing::Values(simulated("Fluid", sim::NetworkKind::kFluid),
                                      simulated("Cm02", sim::NetworkKind::kCm02));

INSTANTIATE_TEST_SUITE_P(Sim, PortConformance, kFabrics, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, ProxyConformance, kFabrics, factory_name);

}  // namespace
}  // namespace hoccl::engine
