// What a job of real proxies does over a fabric: several operations at once, in order, through
// few slots and through ranks that have nothing to do with them.

#include <utility>
#include <vector>

#include "tests/fabric/scenario.h"

namespace hoccl::engine {
namespace {

using namespace literals;

FabricSettings with_one_slot(FabricSettings settings) {
  settings.send_slots = 1;
  settings.receive_slots = 1;
  return settings;
}

TEST_P(ProxyConformance, KeepsSeveralMessagesOfAStreamInFlight) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  const Rank source = scenario.at(0, 0);
  for (int i = 0; i < 6; ++i) {
    const Rank near = scenario.at(0, 2);
    scenario.transfer(source, i % 2 == 0 || near == source ? scenario.at(1, 0) : near, 20_KiB);
  }
  scenario.finish();
}

TEST_P(ProxyConformance, RunsTwoStreamsAtOnce) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  const Rank first = scenario.at(0, 0);
  const Rank second = scenario.at(1, 0);
  for (int i = 0; i < 3; ++i) {
    scenario.transfer(first, second, 20_KiB, 0, 0);
    scenario.transfer(first, second, 20_KiB, 1, 1);
    scenario.transfer(second, first, 20_KiB, 2, 2);
  }
  scenario.finish();
}

/// Every rank of the ring sends to the next and receives from the one before in one group.
void exchange(Scenario& scenario, const std::vector<Rank>& ring, Bytes size) {
  std::vector<std::uint64_t> messages;
  for (std::size_t i = 0; i < ring.size(); ++i) messages.push_back(scenario.next_message());
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const std::size_t next = (i + 1) % ring.size();
    const std::size_t previous = (i + ring.size() - 1) % ring.size();
    const Region sent = scenario.filled(ring[i], size, messages[i]);
    const Region received = scenario.buffer(ring[i], size);
    scenario.expect_ok(
        scenario.job().enqueue(ring[i], 0,
                               {{SendRecvRequest::Side::kSend, ring[next], sent},
                                {SendRecvRequest::Side::kReceive, ring[previous], received}},
                               StreamId(0)));
    scenario.expect_bytes(received, messages[previous]);
  }
  scenario.finish();
}

TEST_P(ProxyConformance, ExchangesWithinANodeInOneGroup) {
  Scenario scenario(GetParam(), GetParam().within_a_node(), small_chunks());
  exchange(scenario, {scenario.at(0, 0), scenario.at(0, 1)}, 50_KiB);
}

TEST_P(ProxyConformance, ExchangesBetweenNodesInOneGroup) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  exchange(scenario, {scenario.at(0, 0), scenario.at(1, 1)}, 50_KiB);
}

TEST_P(ProxyConformance, SendsAroundTheRingOfAllRanks) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  std::vector<Rank> ring;
  for (int i = 0; i < scenario.topology().rank_count(); ++i) ring.emplace_back(i);
  exchange(scenario, ring, 50001_B);
}

/// A pipeline with a data dependency: each rank forwards what it has received, in stream order.
TEST_P(ProxyConformance, ForwardsAlongAChainOfAllRanks) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  const int ranks = scenario.topology().rank_count();
  for (int micro_batch = 0; micro_batch < 3; ++micro_batch) {
    const std::uint64_t message = scenario.next_message();
    Region buffer = scenario.filled(Rank(0), 20001_B, message);
    for (int i = 0; i + 1 < ranks; ++i) {
      ScenarioMessage hop;
      hop.source = Rank(i);
      hop.target = Rank(i + 1);
      scenario.expect_ok(scenario.send(hop, buffer));
      buffer = scenario.buffer(hop.target, 20001_B);
      scenario.expect_ok(scenario.receive(hop, buffer));
      scenario.expect_bytes(buffer, message);
    }
  }
  scenario.finish();
}

TEST_P(ProxyConformance, SendsThroughASingleSlot) {
  Scenario scenario(GetParam(), with_one_slot(GetParam().between_nodes()), small_chunks());
  const Rank first = scenario.at(0, 0);
  const Rank second = scenario.at(1, 0);
  for (int i = 0; i < 3; ++i) {
    scenario.transfer(first, second, 30_KiB);
    scenario.transfer(second, first, 30_KiB);
    scenario.transfer(scenario.at(0, 1), second, 30_KiB, 1, 1);
  }
  scenario.finish();
}

/// A must not take the only slot before its target is ready.
TEST_P(ProxyConformance, EndsCrossedOperationsOfTwoStreamsWithASingleSlot) {
  Scenario scenario(GetParam(), with_one_slot(GetParam().between_nodes()), small_chunks());
  scenario.cross(scenario.at(0, 0), scenario.at(1, 0), 32_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, WaitsForTheTargetThatIsReadyLast) {
  Scenario scenario(GetParam(), with_one_slot(GetParam().between_nodes()), small_chunks());
  const Rank source = scenario.at(0, 0);
  const Rank target = scenario.at(1, 0);
  scenario.job().delay(target, StreamId(1), 20_ms);
  scenario.transfer(source, target, 32_KiB, 1, 1);
  for (int i = 0; i < 3; ++i) scenario.transfer(source, scenario.at(1, 1), 32_KiB, 2, 2);
  scenario.finish();
}

/// From rank 0 to all ranks of the other node, over the wire once.
Plan multicast(const Topology& topology, Bytes size) {
  Transfer transfer;
  transfer.id = FlowId(0);
  transfer.source = Rank(0);
  transfer.size = size;
  transfer.route = Route::kStaged;
  transfer.send_nic = topology.nics_of(NodeId(0))[1];
  transfer.receive_nic = topology.nics_of(NodeId(1)).back();
  for (const Rank rank : topology.ranks_of(NodeId(1))) {
    // No copy within one GPU.
    if (topology.gpu_place(topology.gpu_of(rank)) == topology.place_of(transfer.receive_nic)) {
      continue;
    }
    if (transfer.target.is_none()) {
      transfer.target = rank;
    } else {
      transfer.more_targets.push_back(rank);
    }
  }
  Plan plan;
  plan.pattern = "multicast";
  plan.topology = topology.name();
  plan.rank_count = topology.rank_count();
  plan.message_size = size;
  plan.chunk_size = small_chunks().chunk_size;
  plan.transfers = {transfer};
  return plan;
}

TEST_P(ProxyConformance, WaitsForTheSlowTargetOfAMulticast) {
  const FabricSettings settings = with_one_slot(GetParam().between_nodes());
  if (settings.ranks < 4) GTEST_SKIP() << "no two targets on a node";
  Scenario scenario(GetParam(), settings, small_chunks());
  const Bytes size = 50001_B;
  const auto plan = std::make_shared<const Plan>(multicast(scenario.topology(), size));
  const Transfer& transfer = plan->transfers.front();
  const std::uint64_t message = scenario.next_message();
  const StreamId stream(1);
  scenario.job().delay(transfer.more_targets.back(), stream, 20_ms);
  for (int i = 0; i < settings.ranks; ++i) {
    const bool receives = delivers_to(transfer, Rank(i));
    const Region sent = scenario.filled(Rank(i), i == 0 ? size : 0_B, message);
    const Region received = scenario.buffer(Rank(i), receives ? size : 0_B);
    scenario.expect_ok(scenario.job().run_plan(Rank(i), 0, plan, sent, received, stream));
    scenario.expect_bytes(received, message);
  }
  // Others go on meanwhile, through the same slots.
  for (int i = 0; i < 3; ++i)
    scenario.transfer(Rank(0), transfer.more_targets.back(), 20_KiB, 2, 2);
  scenario.finish();
}

/// A relay serves operations of communicators it is not in: it never calls anything.
TEST_P(ProxyConformance, RelaysForOthers) {
  const FabricSettings settings = GetParam().between_nodes();
  if (settings.ranks < 4) GTEST_SKIP() << "no rank is left to be a relay";
  Scenario scenario(GetParam(), settings, small_chunks());
  const Topology& topology = scenario.topology();
  const Rank source = scenario.at(0, 0);
  const Rank target = scenario.at(1, 1);
  const Plan plan = compile(make_pattern({"sendrecv", source, target, 64_KiB}, settings.ranks),
                            topology, small_chunks());
  for (const Transfer& transfer : plan.transfers) {
    const Rank send_host = topology.host_of(topology.place_of(transfer.send_nic));
    const Rank receive_host = topology.host_of(topology.place_of(transfer.receive_nic));
    ASSERT_TRUE(send_host != source && send_host != target) << send_host.value();
    ASSERT_TRUE(receive_host != source && receive_host != target) << receive_host.value();
  }
  scenario.transfer(source, target, 64_KiB);
  scenario.transfer(target, source, 64_KiB, 1, 1);
  scenario.finish();
}

}  // namespace
}  // namespace hoccl::engine
