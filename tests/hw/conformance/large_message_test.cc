// Messages up to the largest of the issue, through as many processes as they need.

#include <gtest/gtest.h>

#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {
namespace {

using namespace engine::literals;
using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::SendRecvRequest;
using engine::StreamId;
using engine::WorkReference;

constexpr Bytes kChunk = 2_MiB;

void send(const std::string& topology, LinkKind link, Bytes size, Bytes offset) {
  engine::FabricSettings fabric;
  fabric.topology = topology;
  fabric.ranks = 2;
  fabric.slot_size = kChunk;
  HwJob job(job_settings(fabric, link), Living::kProcess);
  const Region sent{job.allocate(Rank(0), offset + size), offset, size};
  const Region received{job.allocate(Rank(1), offset + size), offset, size};
  job.fill(sent, 1);
  const WorkReference send =
      job.enqueue(Rank(0), 0, {{SendRecvRequest::Side::kSend, Rank(1), sent}}, StreamId(0));
  const WorkReference receive =
      job.enqueue(Rank(1), 0, {{SendRecvRequest::Side::kReceive, Rank(0), received}}, StreamId(0));
  job.run();
  for (const WorkReference& work : {send, receive}) {
    const auto status = job.status(work);
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(status->ok()) << to_string(*status);
  }
  EXPECT_TRUE(job.holds(received, 1));
  EXPECT_TRUE(job.quiescent());
}

TEST(LargeMessage, CrossesTheWire) { send("h800-2x2", LinkKind::kLoopback, 256_MiB, 0_B); }
TEST(LargeMessage, IsHandedOver) { send("h800-2x2", LinkKind::kLoopbackMap, 256_MiB, 0_B); }
TEST(LargeMessage, IsPushedWithinANode) { send("h800-1x2", LinkKind::kLoopback, 256_MiB, 0_B); }
TEST(LargeMessage, OfOddSizeCrossesTheWire) {
  send("h800-2x2", LinkKind::kLoopback, 64_MiB + 1_B, 63_B);
}
TEST(LargeMessage, OfOddSizeIsPushedWithinANode) {
  send("h800-1x2", LinkKind::kLoopback, 64_MiB - 1_B, 3_B);
}

}  // namespace
}  // namespace hoccl::hw
