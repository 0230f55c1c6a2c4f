#include "sim/machine/event_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/random.h"

namespace hoccl::sim {
namespace {

using engine::Random;

void count(void* counter, std::uint64_t /*argument*/) { ++*static_cast<int*>(counter); }

TEST(EventHeap, GivesTheSameOrderAsASortedMapUnderRandomUse) {
  Random random(7);
  EventHeap heap;
  std::map<std::pair<double, std::uint64_t>, EventId> expected;
  std::uint64_t sequence = 0;
  double now = 0.0;
  std::vector<EventHeap::Due> due;
  for (int i = 0; i < 20000; ++i) {
    if (random.chance(0.55)) {
      // Few distinct times, so that there are many ties.
      const double time = now + static_cast<double>(random.between(0, 20));
      expected[{time, sequence}] = heap.push(time, Callback());
      ++sequence;
    } else if (!expected.empty() && random.chance(0.5)) {
      auto victim = expected.begin();
      std::advance(victim, random.between(0, static_cast<std::int64_t>(expected.size()) - 1));
      EXPECT_TRUE(heap.cancel(victim->second));
      EXPECT_FALSE(heap.cancel(victim->second));
      expected.erase(victim);
    } else if (!expected.empty()) {
      now = expected.begin()->first.first;
      ASSERT_EQ(heap.next_time(), now);
      due.clear();
      heap.pop_due(now, due);
      for (const EventHeap::Due& event : due) {
        ASSERT_EQ(event.sequence, expected.begin()->first.second);
        ASSERT_EQ(event.event, expected.begin()->second);
        Callback callback;
        EXPECT_TRUE(heap.take(event.event, callback));
        expected.erase(expected.begin());
      }
      ASSERT_TRUE(expected.empty() || expected.begin()->first.first > now);
    }
    ASSERT_EQ(heap.size(), expected.size());
  }
}

TEST(EventHeap, EventsWithinTheLimitComeInOrderOfSequence) {
  EventHeap heap;
  const EventId second_in_time = heap.push(2.0, Callback());
  const EventId first_in_time = heap.push(1.0, Callback());
  std::vector<EventHeap::Due> due;
  heap.pop_due(2.0, due);
  ASSERT_EQ(due.size(), 2U);
  EXPECT_EQ(due[0].event, second_in_time);
  EXPECT_EQ(due[1].event, first_in_time);
}

TEST(EventHeap, APoppedEventCanStillBeCancelled) {
  int called = 0;
  EventHeap heap;
  const EventId event = heap.push(1.0, Callback(&count, &called));
  std::vector<EventHeap::Due> due;
  heap.pop_due(1.0, due);
  EXPECT_TRUE(heap.cancel(event));
  Callback callback;
  EXPECT_FALSE(heap.take(event, callback));
  EXPECT_FALSE(heap.cancel(event));
}

TEST(EventHeap, KeepsItsOrderWhenMostEventsAreCancelled) {
  Random random(11);
  EventHeap heap;
  std::vector<EventId> events;
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    times.push_back(random.uniform());
    events.push_back(heap.push(times.back(), Callback()));
  }
  std::vector<double> kept;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (random.chance(0.8)) {
      EXPECT_TRUE(heap.cancel(events[i]));
    } else {
      kept.push_back(times[i]);
    }
  }
  std::ranges::sort(kept);
  std::vector<EventHeap::Due> due;
  for (const double time : kept) {
    ASSERT_EQ(heap.next_time(), time);
    heap.pop_due(time, due);
  }
  EXPECT_EQ(heap.size(), 0U);
}

TEST(EventHeap, DoesNotGrowWithCancelledTimeouts) {
  EventHeap heap;
  const EventId first = heap.push(0.5, Callback());
  for (int i = 0; i < 100000; ++i) heap.cancel(heap.push(1e6 + i, Callback()));
  // Slots are reused: with 100,000 live entries the next one would be far higher.
  EXPECT_LT(heap.push(1.0, Callback()).slot, 1000U);
  EXPECT_EQ(heap.size(), 2U);
  EXPECT_EQ(heap.next_time(), 0.5);
  EXPECT_TRUE(heap.cancel(first));
  EXPECT_EQ(heap.next_time(), 1.0);
}

}  // namespace
}  // namespace hoccl::sim
