#include "hw/copy/host_copy_engine.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "hw/system/doorbell.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::CopiesDone;
using engine::CopyClass;
using engine::Lane;
using engine::Ticket;

const Lane kLane{CopyClass::kPeer, 0};

class HostCopyEngineTest : public testing::TestWithParam<int> {
 protected:
  Copy copy(std::vector<std::byte>& source, std::vector<std::byte>& target) {
    return {{source.data(), nullptr}, {target.data(), nullptr}, Bytes(source.size()), {}, {}};
  }
  /// Waits until the lane has completed the ticket.
  void await(Lane lane, Ticket ticket) {
    while (true) {
      const std::uint32_t seen = doorbell_.rings();
      while (const auto done = engine_.poll()) {
        EXPECT_EQ(done->outcome, engine::Outcome::kOk);
        EXPECT_GT(done->ticket, reported_[done->lane]);
        reported_[done->lane] = done->ticket;
      }
      if (reported_[lane] >= ticket) return;
      doorbell_.wait(seen, engine::Seconds(10.0));
    }
  }

  Doorbell doorbell_;
  LegTrace trace_{engine::Rank(0)};
  std::map<Lane, Ticket> reported_{{kLane, Ticket(0)}};
  HostCopyEngine engine_{GetParam(), [this] { doorbell_.ring(); }, trace_};
};

TEST_P(HostCopyEngineTest, CopiesNothingBeforeFlush) {
  std::vector<std::byte> source(1000, std::byte{3});
  std::vector<std::byte> target(1000);
  EXPECT_EQ(engine_.post(kLane, copy(source, target)), Ticket(1));
  EXPECT_TRUE(engine_.idle());
  EXPECT_FALSE(engine_.poll().has_value());
  engine_.flush();
  await(kLane, Ticket(1));
  EXPECT_EQ(target, source);
  EXPECT_TRUE(engine_.idle());
}

/// Each copy reads what the one before it has written: a lane is FIFO also with several workers.
TEST_P(HostCopyEngineTest, ALaneIsFifo) {
  std::vector<std::vector<std::byte>> stages(200, std::vector<std::byte>(5000));
  stages.front().assign(5000, std::byte{9});
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    engine_.post(kLane, copy(stages[i], stages[i + 1]));
    if (i % 3 == 0) engine_.flush();
  }
  engine_.flush();
  await(kLane, Ticket(199));
  EXPECT_EQ(stages.back(), stages.front());
}

TEST_P(HostCopyEngineTest, TicketsArePerLane) {
  std::vector<std::byte> source(10);
  std::vector<std::byte> target(10);
  std::vector<std::byte> other_target(10);
  const Lane other{CopyClass::kDeviceToHost, 3};
  reported_[other] = Ticket(0);
  EXPECT_EQ(engine_.post(kLane, copy(source, target)), Ticket(1));
  EXPECT_EQ(engine_.post(other, copy(source, other_target)), Ticket(1));
  engine_.flush();
  await(kLane, Ticket(1));
  await(other, Ticket(1));
}

INSTANTIATE_TEST_SUITE_P(Workers, HostCopyEngineTest, testing::Values(1, 3));

}  // namespace
}  // namespace hoccl::hw
