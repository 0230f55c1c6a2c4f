#include "sim/machine/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "engine/base/config_error.h"
#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;
using namespace engine::literals;

class NetworkTest : public EitherNetwork {};
HOCCL_ON_BOTH_NETWORKS(NetworkTest);

TEST_P(NetworkTest, ALoneFlowTakesSizeOverTheSlowestLink) {
  const RouteId path = route({link(200_GBps), link(50_GBps), link(55_GBps)});
  Seconds end{};
  network_->start(path, 64_MiB, record(end));
  clock_.run();
  EXPECT_TIME(end, 64_MiB / 50_GBps);
}

TEST_P(NetworkTest, OneByteTakesItsTime) {
  const RouteId path = route({link(200_GBps)});
  Seconds end{};
  network_->start(path, 1_B, record(end));
  clock_.run();
  EXPECT_TIME(end, 1_B / 200_GBps);
}

TEST_P(NetworkTest, AnEmptyFlowCompletesAtThePresentInstantButLater) {
  const RouteId path = route({link(200_GBps)});
  Seconds end{};
  bool returned = false;
  clock_.at(3_us, call([&] {
              network_->start(path, 0_B, call([&] {
                                EXPECT_TRUE(returned);
                                end = clock_.now();
                              }));
              returned = true;
            }));
  clock_.run();
  EXPECT_EQ(end, 3_us);
}

/// Two flows share until the smaller one ends at 2 s / C; the larger one then has L - s left.
TEST_P(NetworkTest, UnevenFlowsShareUntilTheSmallerOneEnds) {
  const RouteId path = route({link(100_GBps)});
  Seconds small_end{};
  Seconds large_end{};
  network_->start(path, 10_MiB, record(small_end));
  network_->start(path, 30_MiB, record(large_end));
  clock_.run();
  EXPECT_TIME(small_end, 2 * 10_MiB / 100_GBps);
  EXPECT_TIME(large_end, (10_MiB + 30_MiB) / 100_GBps);
}

/// The first flow has C * d bytes done when the second arrives; then both go at C / 2.
TEST_P(NetworkTest, ALateFlowSharesWhatIsLeft) {
  const BytesPerSecond rate = 100_GBps;
  const RouteId path = route({link(rate)});
  const Seconds delay = 50_us;
  const Bytes size = 10_MiB;
  Seconds first_end{};
  Seconds second_end{};
  network_->start(path, size, record(first_end));
  clock_.at(delay, call([&] { network_->start(path, size, record(second_end)); }));
  clock_.run();
  const Seconds alone = size / rate;
  EXPECT_TIME(first_end, delay + 2.0 * (alone - delay));
  EXPECT_TIME(second_end, 2.0 * alone);
}

TEST_P(NetworkTest, IncastSharesTheReceiverEqually) {
  constexpr int kSenders = 7;
  const LinkId receiver = link(50_GBps);
  std::array<Seconds, kSenders> ends{};
  std::array<RouteId, kSenders> paths;
  for (RouteId& path : paths) path = route({link(50_GBps), receiver});
  for (std::size_t i = 0; i < kSenders; ++i) network_->start(paths[i], 4_MiB, record(ends[i]));
  clock_.run();
  for (const Seconds end : ends) EXPECT_TIME(end, kSenders * 4_MiB / 50_GBps);
}

/// Links of 100, 200 and 100 GB/s; a long flow over all three, one short flow over each. The long
/// one gets 50 everywhere, so the flow on the second link gets 150.
TEST_P(NetworkTest, ThreeLinksAreSharedMaxMin) {
  const LinkId a = link(100_GBps);
  const LinkId b = link(200_GBps);
  const LinkId c = link(100_GBps);
  const BytesPerSecond fair = 100_GBps * 0.5;
  Seconds across{};
  Seconds on_a{};
  Seconds on_b{};
  Seconds on_c{};
  // Sizes in proportion to the rates, so that all end together.
  network_->start(route({a, b, c}), 10_MiB, record(across));
  network_->start(route({a}), 10_MiB, record(on_a));
  network_->start(route({b}), 30_MiB, record(on_b));
  network_->start(route({c}), 10_MiB, record(on_c));
  clock_.run();
  EXPECT_TIME(across, 10_MiB / fair);
  EXPECT_TIME(on_a, 10_MiB / fair);
  EXPECT_TIME(on_b, 30_MiB / (200_GBps * 0.75));
  EXPECT_TIME(on_c, 10_MiB / fair);
}

TEST_P(NetworkTest, AFlowStaysBelowItsRateLimitAndLeavesTheRest) {
  const RouteId path = route({link(100_GBps)});
  Seconds limited_end{};
  Seconds free_end{};
  network_->start(path, 20_MiB, record(limited_end), 20_GBps);
  network_->start(path, 80_MiB, record(free_end));
  clock_.run();
  EXPECT_TIME(limited_end, 20_MiB / 20_GBps);
  EXPECT_TIME(free_end, 80_MiB / (100_GBps * 0.8));
}

TEST_P(NetworkTest, ARateLimitAboveTheShareDoesNothing) {
  const RouteId path = route({link(100_GBps)});
  Seconds first{};
  Seconds second{};
  network_->start(path, 20_MiB, record(first), 60_GBps);
  network_->start(path, 20_MiB, record(second), 70_GBps);
  clock_.run();
  EXPECT_TIME(first, 2 * 20_MiB / 100_GBps);
  EXPECT_TIME(second, 2 * 20_MiB / 100_GBps);
}

/// NCCL channels: k flows at the rate of one SM each add up until the link is full.
TEST_P(NetworkTest, LimitedFlowsAddUpUntilTheLinkIsFull) {
  const RouteId wide = route({link(200_GBps)});
  const RouteId narrow = route({link(50_GBps)});
  std::array<Seconds, 4> on_wide{};
  std::array<Seconds, 4> on_narrow{};
  for (Seconds& end : on_wide) network_->start(wide, 8_MiB, record(end), 20_GBps);
  for (Seconds& end : on_narrow) network_->start(narrow, 8_MiB, record(end), 20_GBps);
  clock_.run();
  for (const Seconds end : on_wide) EXPECT_TIME(end, 8_MiB / 20_GBps);
  for (const Seconds end : on_narrow) EXPECT_TIME(end, 4 * 8_MiB / 50_GBps);
}

/// Half the bytes at the old rate, half at the new one, down and up; up also beyond the capacity
/// at which the flow started.
TEST_P(NetworkTest, FlowsFollowACapacityChange) {
  const BytesPerSecond before = 100_GBps;
  const LinkId slower = link(before);
  const LinkId faster = link(before);
  const Bytes half = 10_MiB;
  Seconds slowed{};
  Seconds sped_up{};
  network_->start(route({slower}), 2 * half, record(slowed));
  network_->start(route({faster}), 2 * half, record(sped_up));
  clock_.at(half / before, call([&] {
              network_->set_capacity(slower, before * 0.25);
              network_->set_capacity(faster, before * 3.0);
            }));
  clock_.run();
  EXPECT_TIME(slowed, half / before + half / (before * 0.25));
  EXPECT_TIME(sped_up, half / before + half / (before * 3.0));
  EXPECT_EQ(network_->capacity(faster), before * 3.0);
}

TEST_P(NetworkTest, ACancelledFlowFreesItsShareAndCountsWhatItMoved) {
  const BytesPerSecond rate = 100_GBps;
  const LinkId shared = link(rate);
  const RouteId path = route({shared});
  const Seconds when = 40_us;
  Seconds end{};
  bool called = false;
  const FlowHandle victim = network_->start(path, 100_MiB, call([&] { called = true; }));
  network_->start(path, 10_MiB, record(end));
  clock_.at(when, call([&] {
              EXPECT_TRUE(network_->cancel(victim));
              EXPECT_FALSE(network_->cancel(victim));
            }));
  clock_.run();
  EXPECT_FALSE(called);
  // Half the rate until `when`, all of it afterwards.
  EXPECT_TIME(end, when + (10_MiB / rate - 0.5 * when));
  const Bytes moved_by_victim(std::llround(when.count() * rate.value() / 2));
  EXPECT_EQ(network_->carried(shared), moved_by_victim + 10_MiB);
}

TEST_P(NetworkTest, ACompletedFlowCannotBeCancelled) {
  const RouteId path = route({link(100_GBps)});
  Seconds end{};
  FlowHandle flow = network_->start(path, 1_MiB, record(end));
  clock_.run();
  EXPECT_FALSE(network_->cancel(flow));
  // Its place is taken by another flow, which the old handle must not reach.
  network_->start(path, 1_MiB, record(end));
  EXPECT_FALSE(network_->cancel(flow));
  clock_.run();
  EXPECT_TIME(end, 2 * 1_MiB / 100_GBps);
}

TEST_P(NetworkTest, LinksCountTheBytesThatCrossedThem) {
  const LinkId a = link(100_GBps);
  const LinkId b = link(50_GBps);
  Seconds end{};
  network_->start(route({a, b}), 3_MiB, record(end));
  network_->start(route({a}), 4_MiB, record(end));
  clock_.run();
  EXPECT_EQ(network_->carried(a), 7_MiB);
  EXPECT_EQ(network_->carried(b), 3_MiB);
}

TEST_P(NetworkTest, RunUntilLeavesFlowsInProgress) {
  const BytesPerSecond rate = 100_GBps;
  const RouteId path = route({link(rate)});
  Seconds first{};
  Seconds second{};
  network_->start(path, 10_MiB, record(first));
  clock_.run_until(20_us);
  EXPECT_EQ(clock_.now(), 20_us);
  EXPECT_EQ(first, Seconds(0.0));
  network_->start(path, 10_MiB, record(second));
  clock_.run();
  EXPECT_TIME(first, 20_us + 2.0 * (10_MiB / rate - 20_us));
  EXPECT_TIME(second, 2 * 10_MiB / rate);
}

TEST_P(NetworkTest, FlowsStartedInACallbackBeginAtThatInstant) {
  const BytesPerSecond rate = 50_GBps;
  const RouteId path = route({link(rate)});
  std::vector<Seconds> ends;
  std::function<void()> next;
  const Callback again = call([&] { next(); });
  next = [&] {
    ends.push_back(clock_.now());
    if (ends.size() < 1000) network_->start(path, 1_MiB, again);
  };
  network_->start(path, 1_MiB, again);
  clock_.run();
  ASSERT_EQ(ends.size(), 1000U);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    EXPECT_TIME(ends[i], static_cast<std::int64_t>(i + 1) * 1_MiB / rate);
  }
}

TEST_P(NetworkTest, EqualRoutesAreOneRoute) {
  const LinkId a = link(100_GBps);
  const LinkId b = link(100_GBps);
  const RouteId first = route({a, b});
  for (int i = 0; i < 200; ++i) route({link(100_GBps)});
  EXPECT_EQ(route({a, b}), first);
  EXPECT_NE(route({b, a}), first);
}

using NetworkDeathTest = NetworkTest;
HOCCL_ON_BOTH_NETWORKS(NetworkDeathTest);

TEST_P(NetworkDeathTest, RefusesNonsense) {
  const LinkId a = link(100_GBps);
  EXPECT_DEATH(link(BytesPerSecond(0.0)), "capacity");
  EXPECT_DEATH(route({a, a}), "twice in one route");
  EXPECT_DEATH(route({}), "route of 0 links");
  EXPECT_DEATH(network_->set_capacity(a, BytesPerSecond(0.0)), "capacity");
  EXPECT_DEATH(network_->start(route({a}), Bytes(-1), Callback()), "-1 bytes");
}

TEST(NetworkKindName, IsParsedOrRefused) {
  for (const NetworkKind kind : {NetworkKind::kCm02, NetworkKind::kFluid}) {
    EXPECT_EQ(parse_network_kind(to_string(kind)), kind);
  }
  try {
    parse_network_kind("LV08");
    FAIL();
  } catch (const engine::ConfigError& error) {
    EXPECT_STREQ(error.what(), "unknown network model 'LV08', expected cm02 or fluid");
  }
}

}  // namespace
}  // namespace hoccl::sim
