/// Which of two things that happen at one instant comes first, on either network.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/machine/network.h"
#include "tests/sim/machine/simulation.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Seconds;
using namespace engine::literals;

/// Group k has k equal flows on a link of its own. All links are kept busy for `duration`, so all
/// flows end then; but small flows come and go at other times in each group, so that the ends are
/// computed differently and differ by rounding. A first wave leaves the tables in disorder.
class SimultaneousCompletions : public EitherNetwork {
 protected:
  static constexpr int kGroups = 12;
  static constexpr double kDisturbance = 0.001;  // one, as a fraction of the bytes of a link

  void run_first_wave(const std::vector<RouteId>& paths) {
    for (std::size_t i = 0; i < 100; ++i) {
      network_->start(paths[i % paths.size()], Bytes(static_cast<std::int64_t>(i * 37 % 101) + 1),
                      Callback());
    }
    clock_.run();
  }

  /// Starts `count` small flows at irregular times between 5% and 85% of `duration`.
  void disturb(RouteId path, Bytes size, int count, Seconds duration) {
    const Callback start = call([this, path, size] { network_->start(path, size, Callback()); });
    for (int i = 1; i <= count; ++i) {
      const double turns = i * 0.6180339887498949;  // the golden ratio spreads them
      clock_.after(duration * (0.05 + 0.8 * (turns - std::floor(turns))), start);
    }
  }

  void expect_order_of_start(Seconds duration) {
    std::vector<RouteId> paths;
    std::vector<BytesPerSecond> capacities;
    for (int k = 1; k <= kGroups; ++k) {
      capacities.emplace_back(27.72e9 * (1 + k % 5));  // 27720 = lcm(1 .. 12)
      paths.push_back(route({link(capacities.back())}));
    }
    run_first_wave(paths);
    const Seconds begin = clock_.now();
    std::vector<std::size_t> order;
    std::vector<Seconds> ends;
    // From the last group to the first: neither by link nor by address.
    for (int k = kGroups; k >= 1; --k) {
      const auto group = static_cast<std::size_t>(k - 1);
      const double bytes = capacities[group].value() * duration.count();
      const int count = 3 * k;
      for (int i = 0; i < k; ++i) {
        const Bytes size(std::llround(bytes * (1.0 - count * kDisturbance) / k));
        network_->start(paths[group], size, call([&, index = order_index_++] {
                          order.push_back(index);
                          ends.push_back(clock_.now());
                        }));
      }
      disturb(paths[group], Bytes(std::llround(bytes * kDisturbance)), count, duration);
    }
    clock_.run();
    ASSERT_EQ(order.size(), order_index_);
    EXPECT_TRUE(std::ranges::is_sorted(order));
    EXPECT_TRUE(std::ranges::all_of(ends, [&](Seconds end) { return end == ends.front(); }));
    EXPECT_TIME(ends.front(), begin + duration);
  }

  /// An event a rounding error before the date at which the flows end, scheduled before they start.
  void expect_completions_before_event(Seconds duration) {
    std::vector<int> order;
    const BytesPerSecond rate = 27.72_GBps;
    const RouteId path = route({link(rate)});
    clock_.at(duration * (1.0 - 1e-13), call([&] { order.push_back(2); }));
    const double bytes = rate.value() * duration.count();
    for (int i = 0; i < 3; ++i) {
      network_->start(path, Bytes(std::llround(bytes * (1.0 - 10 * kDisturbance) / 3)),
                      call([&] { order.push_back(1); }));
    }
    disturb(path, Bytes(std::llround(bytes * kDisturbance)), 10, duration);
    clock_.run();
    EXPECT_EQ(order, (std::vector{1, 1, 1, 2}));
  }

 private:
  std::size_t order_index_ = 0;
};
HOCCL_ON_BOTH_NETWORKS(SimultaneousCompletions);

TEST_P(SimultaneousCompletions, ComeInOrderOfTheirStart) { expect_order_of_start(1_ms); }

// Here rounding (1e-14 s) exceeds the precision below which SimGrid itself sees one date.
TEST_P(SimultaneousCompletions, ComeInOrderOfTheirStartAfterMinutesToo) {
  expect_order_of_start(Seconds(100.0));
}

TEST_P(SimultaneousCompletions, ComeBeforeEventsOfTheSameInstant) {
  expect_completions_before_event(1_ms);
}

TEST_P(SimultaneousCompletions, ComeBeforeEventsOfTheSameInstantAfterMinutesToo) {
  expect_completions_before_event(Seconds(100.0));
}

}  // namespace
}  // namespace hoccl::sim
