#include "hw/stream/host_streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace hoccl::hw {
namespace {

using engine::Gate;
using engine::GateReached;
using engine::StreamId;

const Gate kGate{0, StreamId(1)};

TEST(HostStreams, DoWhatIsEnqueuedInOrder) {
  HostStreams streams([](GateReached) {});
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) streams.enqueue(StreamId(0), [&order, i] { order.push_back(i); });
  streams.synchronize(StreamId(0));
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
  EXPECT_TRUE(streams.idle());
}

TEST(HostStreams, AreIdleWhileTheyWaitAtAClosedGate) {
  HostStreams streams([](GateReached) {});
  std::atomic<bool> passed = false;
  streams.enqueue_wait(kGate, 1);
  streams.enqueue(kGate.stream, [&] { passed = true; });
  while (!streams.idle()) std::this_thread::yield();
  EXPECT_FALSE(passed);
  streams.open_gate(kGate, 1);
  streams.synchronize(kGate.stream);
  EXPECT_TRUE(passed);
}

TEST(HostStreams, DoNotWaitForEachOther) {
  HostStreams streams([](GateReached) {});
  streams.enqueue_wait(kGate, 1);
  std::atomic<bool> done = false;
  streams.enqueue(StreamId(2), [&] { done = true; });
  streams.synchronize(StreamId(2));
  EXPECT_TRUE(done);
}

TEST(HostStreams, TellWhatTheyReachFromTheStream) {
  std::vector<GateReached> reached;
  HostStreams streams([&](GateReached where) { reached.push_back(where); });
  streams.enqueue_ready(kGate, 5);
  streams.synchronize(kGate.stream);
  ASSERT_EQ(reached.size(), 1U);
  EXPECT_EQ(reached[0].gate, kGate);
  EXPECT_EQ(reached[0].sequence, 5U);
}

TEST(HostStreams, EndWithoutDoingWhatIsBehindAClosedGate) {
  std::atomic<bool> passed = false;
  {
    HostStreams streams([](GateReached) {});
    streams.enqueue_wait(kGate, 1);
    streams.enqueue(kGate.stream, [&] { passed = true; });
    while (!streams.idle()) std::this_thread::yield();
  }
  EXPECT_FALSE(passed);
}

}  // namespace
}  // namespace hoccl::hw
