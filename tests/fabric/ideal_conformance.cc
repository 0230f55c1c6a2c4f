// The conformance suites on IdealFabric: once in closed form, and with several adversarial seeds.

#include <fmt/format.h>

#include "tests/fabric/conformance.h"
#include "tests/support/byte_pattern.h"
#include "tests/support/ideal_fabric.h"

namespace hoccl::engine {
namespace {

class IdealUnderTest final : public FabricUnderTest {
 public:
  IdealUnderTest(const FabricSettings& settings, const IdealOptions& options)
      : fabric_(resolve_topology(settings.topology).with_ranks(settings.ranks), options) {}

  Fabric& fabric() override { return fabric_; }
  [[nodiscard]] const Topology& topology() const override { return fabric_.topology(); }
  BufferHandle allocate(Rank owner, Bytes size) override { return fabric_.allocate(owner, size); }
  void fill(const Region& region, std::uint64_t message) override {
    fill_pattern(fabric_.bytes(region), message);
  }
  [[nodiscard]] bool holds(const Region& region, std::uint64_t message) override {
    return !first_difference(fabric_.bytes(region), message).has_value();
  }
  void delay(Rank rank, StreamId stream, Seconds time) override {
    fabric_.enqueue_delay(rank, stream, time);
  }
  void run(std::span<Proxy* const> proxies) override {
    EXPECT_EQ(fabric_.run(proxies), RunEnd::kIdle);
  }

 private:
  IdealFabric fabric_;
};

FabricFactory ideal(const std::string& name, Timing timing, std::uint64_t seed) {
  return local_factory(name, [timing, seed](const FabricSettings& settings) {
    IdealOptions options;
    options.timing = timing;
    options.seed = seed;
    options.slot_size = settings.slot_size;
    options.send_slots = settings.send_slots;
    options.receive_slots = settings.receive_slots;
    options.time_limit = Seconds(1.0);
    return std::make_unique<IdealUnderTest>(settings, options);
  });
}

const auto kFabrics = testing::Values(
    ideal("ClosedForm", Timing::kClosedForm, 1), ideal("Adversarial1", Timing::kAdversarial, 1),
    ideal("Adversarial2", Timing::kAdversarial, 2), ideal("Adversarial3", Timing::kAdversarial, 3),
    ideal("Adversarial4", Timing::kAdversarial, 4));

INSTANTIATE_TEST_SUITE_P(Ideal, PortConformance, kFabrics, factory_name);
INSTANTIATE_TEST_SUITE_P(Ideal, ProxyConformance, kFabrics, factory_name);

}  // namespace
}  // namespace hoccl::engine
