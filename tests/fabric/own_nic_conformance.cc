// What NICs do with registered user buffers: as the seam has it, and under real proxies.

#include <array>
#include <cstring>

#include "engine/pipeline/messages.h"
#include "tests/fabric/scenario.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr const char* kMapWire = "nothing moves on a map wire";

NicId own_nic(const Topology& topology, int rank) {
  return topology.nics_of(topology.gpu_of(Rank(rank))).front();
}

TEST_P(PortConformance, NicsWriteFromRegisteredBufferToRegisteredBuffer) {
  if (!GetParam().moves_user_buffers) GTEST_SKIP() << kMapWire;
  constexpr Bytes kSize(3000);
  constexpr int kWrites = 4;
  const BufferHandle sent = fabric().allocate(Rank(source()), kSize * kWrites);
  const BufferHandle received = fabric().allocate(Rank(target()), kSize * kWrites);
  port(source()).register_buffer(sent);
  port(target()).register_buffer(received);
  for (const auto& [rank, buffer] : {std::pair(source(), sent), std::pair(target(), received)}) {
    const auto registered = told<BufferRegistered>(rank);
    ASSERT_EQ(registered.size(), 1U);
    EXPECT_EQ(registered[0].buffer, buffer);
    EXPECT_TRUE(registered[0].ok);
  }
  port(source()).import_buffer(received);
  const auto imported = told<BufferImported>(source());
  ASSERT_EQ(imported.size(), 1U);
  EXPECT_TRUE(imported[0].ok);

  const NicId from = own_nic(topology(), source());
  const NicId into = own_nic(topology(), target());
  const QueuePairId pair = port(source()).queue_pair(from, into, Rank(target()), 0);
  std::vector<WriteRequest> writes;
  for (int i = 0; i < kWrites; ++i) {
    WriteRequest write;
    write.local = {sent, kSize * i, kSize};
    write.remote = {received, kSize * (kWrites - 1 - i), kSize};
    write.descriptor.kind = static_cast<std::uint8_t>(MessageKind::kWritten);
    write.descriptor.chunk = static_cast<std::uint32_t>(i);
    write.descriptor.size_bytes = static_cast<std::uint32_t>(kSize.count());
    write.descriptor.target_offset = static_cast<std::uint64_t>(write.remote.offset.count());
    write.descriptor.operation.number = 99;
    fabric().fill(write.local, 50U + static_cast<std::uint64_t>(i));
    EXPECT_EQ(port(source()).post_write(pair, write), Ticket(i + 1));
    writes.push_back(write);
  }
  const auto arrived = told<Arrived>(target());
  ASSERT_EQ(arrived.size(), writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    EXPECT_EQ(arrived[i].local_nic, into);
    EXPECT_EQ(arrived[i].remote_nic, from);
    EXPECT_EQ(std::memcmp(&arrived[i].descriptor, &writes[i].descriptor, sizeof(Descriptor)), 0);
    EXPECT_TRUE(fabric().holds(writes[i].remote, 50U + i)) << i;
  }
  Ticket last(0);
  for (const WritesDone& done : only<WritesDone>(drain(source()))) {
    EXPECT_EQ(done.outcome, Outcome::kOk);
    last = done.ticket;
  }
  EXPECT_EQ(last, Ticket(kWrites));
}

CompileOptions own_nics() {
  CompileOptions options = small_chunks();
  options.forwarding = Forwarding::kOwnNic;
  return options;
}

TEST_P(ProxyConformance, OwnNicsSendOddSizesFromUnalignedBuffers) {
  if (!GetParam().moves_user_buffers) GTEST_SKIP() << kMapWire;
  Scenario scenario(GetParam(), GetParam().between_nodes(), own_nics());
  ScenarioMessage message;
  message.source = scenario.at(0, 1);
  message.target = scenario.at(1, 0);
  for (const Bytes size : {1_B, 4095_B, 4096_B, 4097_B, 50001_B}) {
    for (const Bytes offset : {0_B, 1_B, 63_B}) {
      message.size = size;
      message.offset = offset;
      scenario.transfer(message);
    }
  }
  scenario.finish();
}

TEST_P(ProxyConformance, OwnNicsSendBothWaysAndWithinTheNodeAtOnce) {
  if (!GetParam().moves_user_buffers) GTEST_SKIP() << kMapWire;
  Scenario scenario(GetParam(), GetParam().between_nodes(), own_nics());
  for (int i = 0; i < 3; ++i) {
    scenario.transfer(scenario.at(0, 0), scenario.at(1, 0), 40_KiB, 1, 1);
    scenario.transfer(scenario.at(1, 0), scenario.at(0, 0), 30_KiB, 2, 2);
    if (scenario.at(0, 0) == scenario.at(0, 1)) continue;
    scenario.transfer(scenario.at(0, 0), scenario.at(0, 1), 20_KiB, 3, 3);
  }
  scenario.finish();
}

/// No slot is needed, so that a single one changes nothing; admission still holds.
TEST_P(ProxyConformance, OwnNicsEndCrossedOperationsOfTwoStreams) {
  if (!GetParam().moves_user_buffers) GTEST_SKIP() << kMapWire;
  Scenario scenario(GetParam(), GetParam().between_nodes(), own_nics());
  scenario.cross(scenario.at(0, 0), scenario.at(1, 0), 32_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, OwnNicsRefuseDifferentSizesOnBothSides) {
  if (!GetParam().moves_user_buffers) GTEST_SKIP() << kMapWire;
  Scenario scenario(GetParam(), GetParam().between_nodes(), own_nics());
  scenario.mismatch(scenario.at(0, 0), scenario.at(1, 1), 64_KiB, 48_KiB);
}

/// From rank 0 to one rank of the other node, which passes every chunk on to the others there.
TEST_P(ProxyConformance, OwnNicsReachARankThatPassesChunksOn) {
  if (!GetParam().moves_user_buffers) GTEST_SKIP() << kMapWire;
  const FabricSettings settings = GetParam().between_nodes();
  Scenario scenario(GetParam(), settings, own_nics());
  const Bytes size = 50001_B;
  Pattern pattern;
  pattern.name = "multicast";
  pattern.rank_count = settings.ranks;
  pattern.message_size = size;
  Flow flow;
  flow.source = Rank(0);
  flow.size = size;
  for (const Rank rank : scenario.topology().ranks_of(NodeId(1))) {
    if (flow.target.is_none()) {
      flow.target = rank;
    } else {
      flow.more_targets.push_back(rank);
    }
  }
  pattern.flows = {flow};
  const auto plan = std::make_shared<const Plan>(compile(pattern, scenario.topology(), own_nics()));
  const std::uint64_t message = scenario.next_message();
  for (int i = 0; i < settings.ranks; ++i) {
    const bool receives = scenario.topology().node_of(Rank(i)) == NodeId(1);
    const Region sent = scenario.filled(Rank(i), i == 0 ? size : 0_B, message);
    const Region received = scenario.buffer(Rank(i), receives ? size : 0_B);
    scenario.expect_ok(scenario.job().run_plan(Rank(i), 0, plan, sent, received, StreamId(0)));
    scenario.expect_bytes(received, message);
  }
  scenario.finish();
}

}  // namespace
}  // namespace hoccl::engine
