#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine/clock.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

/// How GoogleTest prints a parameter.
inline void PrintTo(NetworkKind kind, std::ostream* out) { *out << to_string(kind); }

/// Relative error that closed forms are held to.
inline constexpr double kExact = 1e-9;

/// One simulation: each test runs in its own process, because SimGrid allows one per process.
class Simulation : public testing::Test {
 protected:
  void use(NetworkKind kind) { network_ = make_network(kind, clock_); }

  /// A callback that runs `action`; lives as long as the simulation.
  Callback call(std::function<void()> action) {
    actions_.push_back(std::move(action));
    return Callback(
        [](void* object, std::uint64_t /*argument*/) {
          (*static_cast<std::function<void()>*>(object))();
        },
        &actions_.back());
  }
  /// A callback that stores the time at which it is called.
  Callback record(engine::Seconds& time) {
    return call([this, &time] { time = clock_.now(); });
  }

  LinkId link(engine::BytesPerSecond capacity) {
    return network_->add_link("link" + std::to_string(network_->link_count()), capacity);
  }
  RouteId route(std::initializer_list<LinkId> links) {
    return network_->add_route(std::vector<LinkId>(links));
  }

  Clock clock_;
  std::unique_ptr<Network> network_;

 private:
  std::deque<std::function<void()>> actions_;
};

/// The same test on both network models.
class EitherNetwork : public Simulation, public testing::WithParamInterface<NetworkKind> {
 protected:
  void SetUp() override { use(GetParam()); }
};

inline std::string kind_name(const testing::TestParamInfo<NetworkKind>& info) {
  return std::string(to_string(info.param));
}

}  // namespace hoccl::sim

#define HOCCL_ON_BOTH_NETWORKS(suite)      \
  INSTANTIATE_TEST_SUITE_P(Network, suite, \
                           testing::Values(NetworkKind::kFluid, NetworkKind::kCm02), kind_name)

/// Two times, equal to kExact relative.
#define EXPECT_TIME(actual, expected) \
  EXPECT_NEAR((actual).count(), (expected).count(), ::hoccl::sim::kExact*(expected).count())
