// What the simulated machine does with writes from user buffer to user buffer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/fabric/fixture.h"

namespace hoccl::sim {
namespace {

using engine::BufferHandle;
using engine::NicId;
using engine::Rank;
using engine::Seconds;
using engine::Ticket;
using engine::WritesDone;
using namespace engine::literals;
using testing::ElementsAre;

class OwnNicTest : public HandDriven {
 protected:
  /// Registered by their owners, and that of `target` known to `source`.
  void make_buffers(int source, int target) {
    sent_ = fabric_->allocate(Rank(source), 1_MiB);
    received_ = fabric_->allocate(Rank(target), 1_MiB);
    port(source).register_buffer(sent_);
    port(target).register_buffer(received_);
    fabric_->run();
    port(source).import_buffer(received_);
    fabric_->run();
    for (const int rank : {source, target}) seen<engine::BufferImported>(rank);
  }
  engine::WriteRequest between_buffers() {
    return {.local = {sent_, 0_B, 1_MiB},
            .remote = {received_, 0_B, 1_MiB},
            .immediate = 0,
            .descriptor = {},
            .tag = tag_};
  }
  std::vector<std::string> names(RouteId route) {
    std::vector<std::string> result;
    for (const LinkId link : fabric_->network().links(route)) {
      result.push_back(fabric_->network().name(link));
    }
    return result;
  }

  BufferHandle sent_;
  BufferHandle received_;
};

TEST_F(OwnNicTest, RegistrationTakesItsTimeBesideTheProxy) {
  start("h800-2x8");
  port(1).register_buffer(fabric_->allocate(Rank(1), 1_MiB));
  const Seconds call = constants_.cpu.post_local_message;
  EXPECT_EQ(port(1).cpu().free_at(), call);
  expect_seen_at<engine::BufferRegistered>(1, call + constants_.registration.latency);
}

TEST_F(OwnNicTest, AWriteCrossesTheWireAndNothingElse) {
  start("h800-2x8");
  make_buffers(1, 9);
  const engine::QueuePairId queue_pair = port(1).queue_pair(NicId(1), NicId(9), Rank(9), 0);
  const Seconds begin = port(1).cpu().free_at();
  EXPECT_EQ(port(1).post_write(queue_pair, between_buffers()), Ticket(1));
  const QueuePairConstants& constants = constants_.queue_pair;
  const Seconds arrival = begin + constants_.cpu.post_write + constants.message_overhead +
                          1_MiB / nic_rate() + constants.wire_latency;
  expect_seen_at<engine::Arrived>(9, arrival);
  expect_seen_at<WritesDone>(1, arrival + constants.completion_latency);
  EXPECT_EQ(fabric_->network().carried(fabric_->links().nvlink_out(1)), 0_B);
}

TEST_F(OwnNicTest, BehindHostSlotsItCrossesThePcieOfBothGpus) {
  engine::TopologyDescription description = engine::preset_topology("h800-2x2").description();
  description.staging = engine::StagingKind::kHost;
  start(engine::Topology(description));
  EXPECT_THAT(names(fabric_->links().wire_route(NicId(1), NicId(3))),
              ElementsAre("nic 1 send", "nic 3 receive"));
  EXPECT_THAT(names(fabric_->links().buffer_wire_route(NicId(1), NicId(3))),
              ElementsAre("gpu 1 pcie to host", "gpu 1 pcie both ways", "nic 1 send",
                          "nic 3 receive", "gpu 3 pcie from host", "gpu 3 pcie both ways"));
}

using OwnNicDeathTest = OwnNicTest;

TEST_F(OwnNicDeathTest, RefusesABufferThatIsNotRegistered) {
  start("h800-2x8");
  sent_ = fabric_->allocate(Rank(1), 1_MiB);
  received_ = fabric_->allocate(Rank(9), 1_MiB);
  const engine::QueuePairId queue_pair = port(1).queue_pair(NicId(1), NicId(9), Rank(9), 0);
  EXPECT_DEATH(port(1).post_write(queue_pair, between_buffers()), "not registered with the NICs");
  EXPECT_DEATH(port(1).import_buffer(received_), "was not registered");
}

TEST_F(OwnNicDeathTest, RefusesANicThatIsNotNextToTheBuffer) {
  start("h800-2x8");
  make_buffers(1, 9);
  EXPECT_DEATH(port(1).queue_pair(NicId(1), NicId(9), Rank(10), 0), "rank 10 cannot use NIC 9");
  received_ = fabric_->allocate(Rank(10), 1_MiB);
  port(10).register_buffer(received_);
  port(1).import_buffer(received_);
  const engine::QueuePairId queue_pair = port(1).queue_pair(NicId(1), NicId(9), Rank(9), 0);
  EXPECT_DEATH(port(1).post_write(queue_pair, between_buffers()), "NIC 9 does not receive into");
}

}  // namespace
}  // namespace hoccl::sim
