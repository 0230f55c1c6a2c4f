// The conformance suites on SimFabric, with both network models. There is no memory behind its
// buffers: who may touch what when is what is checked here, the bytes on IdealFabric.

#include <memory>

#include "sim/calibration/calibration.h"
#include "sim/fabric/sim_fabric.h"
#include "tests/fabric/conformance.h"

namespace hoccl::engine {
namespace {

class SimUnderTest final : public FabricUnderTest {
 public:
  SimUnderTest(const FabricSettings& settings, sim::NetworkKind network)
      : topology_(resolve_topology(settings.topology).with_ranks(settings.ranks)),
        fabric_(topology_, sim::calibration_for(topology_), options(settings, network)) {
    EXPECT_EQ(settings.send_slots, settings.receive_slots);
  }

  Fabric& fabric() override { return fabric_; }
  [[nodiscard]] const Topology& topology() const override { return topology_; }
  BufferHandle allocate(Rank owner, Bytes size) override { return fabric_.allocate(owner, size); }
  void fill(const Region& /*region*/, std::uint64_t /*message*/) override {}
  [[nodiscard]] bool holds(const Region& /*region*/, std::uint64_t /*message*/) override {
    return true;
  }
  void delay(Rank rank, StreamId stream, Seconds time) override {
    fabric_.enqueue_kernel(rank, stream, time);
  }
  void run(std::span<Proxy* const> proxies) override {
    if (proxies.empty()) {
      fabric_.run();
    } else {
      fabric_.run(proxies);
    }
  }

 private:
  static sim::SimOptions options(const FabricSettings& settings, sim::NetworkKind network) {
    sim::SimOptions result;
    result.network = network;
    result.slots = settings.send_slots;
    result.slot_size = settings.slot_size;
    return result;
  }

  const Topology topology_;
  sim::SimFabric fabric_;
};

FabricFactory simulated(const std::string& name, sim::NetworkKind network) {
  return local_factory(name, [network](const FabricSettings& settings) {
    return std::make_unique<SimUnderTest>(settings, network);
  });
}

const auto kFabrics = testing::Values(simulated("Fluid", sim::NetworkKind::kFluid),
                                      simulated("Cm02", sim::NetworkKind::kCm02));

INSTANTIATE_TEST_SUITE_P(Sim, PortConformance, kFabrics, factory_name);
INSTANTIATE_TEST_SUITE_P(Sim, ProxyConformance, kFabrics, factory_name);

}  // namespace
}  // namespace hoccl::engine
