// What a job of real proxies does over a fabric: single messages of all kinds.

#include <array>

#include "tests/fabric/scenario.h"

namespace hoccl::engine {
namespace {

using namespace literals;

TEST_P(ProxyConformance, SendsWithinANode) {
  Scenario scenario(GetParam(), GetParam().within_a_node(), small_chunks());
  scenario.transfer(scenario.at(0, 0), scenario.at(0, 3), 64_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsBetweenNodes) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  scenario.transfer(scenario.at(0, 0), scenario.at(1, 1), 64_KiB);
  scenario.finish();
}

// No multiple of the chunk, and from anywhere to anywhere.
constexpr std::array kSizes = {1_B, 4095_B, 4096_B, 4097_B, 10001_B};
constexpr std::array kOffsets = {0_B, 1_B, 3_B, 63_B};

void send_all_sizes(Scenario& scenario, Rank source, Rank target) {
  ScenarioMessage message;
  message.source = source;
  message.target = target;
  for (const Bytes size : kSizes) {
    for (const Bytes offset : kOffsets) {
      message.size = size;
      message.offset = offset;
      scenario.transfer(message);
    }
  }
  scenario.finish();
}

TEST_P(ProxyConformance, SendsOddSizesFromUnalignedBuffersWithinANode) {
  Scenario scenario(GetParam(), GetParam().within_a_node(), small_chunks());
  send_all_sizes(scenario, scenario.at(0, 1), scenario.at(0, 2));
}

TEST_P(ProxyConformance, SendsOddSizesFromUnalignedBuffersBetweenNodes) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  send_all_sizes(scenario, scenario.at(0, 1), scenario.at(1, 2));
}

TEST_P(ProxyConformance, RefusesDifferentSizesBetweenNodesOnBothSides) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  scenario.mismatch(scenario.at(0, 0), scenario.at(1, 1), 64_KiB, 48_KiB);
}

TEST_P(ProxyConformance, RefusesDifferentSizesWithinANodeOnBothSides) {
  Scenario scenario(GetParam(), GetParam().within_a_node(), small_chunks());
  scenario.mismatch(scenario.at(0, 0), scenario.at(0, 1), 48_KiB, 64_KiB);
}

TEST_P(ProxyConformance, RefusesToReceiveWhereNothingIsSent) {
  Scenario scenario(GetParam(), GetParam().within_a_node(), small_chunks());
  scenario.mismatch(scenario.at(0, 0), scenario.at(0, 1), 0_B, 64_KiB);
}

TEST_P(ProxyConformance, RefusesToReceiveFromALateSourceThatSendsNothing) {
  Scenario scenario(GetParam(), GetParam().within_a_node(), small_chunks());
  scenario.mismatch(scenario.at(0, 0), scenario.at(0, 1), 0_B, 64_KiB, 20_ms);
}

TEST_P(ProxyConformance, RefusesDifferentSizesOfALateSource) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  scenario.mismatch(scenario.at(0, 0), scenario.at(1, 1), 64_KiB, 48_KiB, 20_ms);
}

TEST_P(ProxyConformance, RefusesToSendWhereNothingIsReceived) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  scenario.mismatch(scenario.at(0, 0), scenario.at(1, 1), 64_KiB, 0_B);
}

TEST_P(ProxyConformance, SendsNothingWithinANode) {
  Scenario scenario(GetParam(), GetParam().within_a_node(), small_chunks());
  scenario.transfer(scenario.at(0, 0), scenario.at(0, 1), 0_B);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsNothingBetweenNodes) {
  Scenario scenario(GetParam(), GetParam().between_nodes(), small_chunks());
  scenario.transfer(scenario.at(0, 0), scenario.at(1, 0), 0_B);
  scenario.transfer(scenario.at(0, 0), scenario.at(1, 0), 100_B);
  scenario.finish();
}

TEST_P(ProxyConformance, StripesOverFourRails) {
  FabricSettings settings = GetParam().between_nodes();
  settings.topology = "h800-2x8";
  settings.ranks *= 2;
  Scenario scenario(GetParam(), settings, small_chunks(4));
  scenario.transfer(scenario.at(0, 0), scenario.at(1, 0), 200_KiB);
  scenario.transfer(scenario.at(1, 5), scenario.at(0, 1), 77777_B);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsWithFewerRanksThanGpus) {
  FabricSettings settings;
  settings.ranks = 2;  // one per node: each hosts the places of all its node's GPUs
  Scenario scenario(GetParam(), settings, small_chunks());
  scenario.transfer(Rank(0), Rank(1), 64_KiB);
  scenario.transfer(Rank(1), Rank(0), 64_KiB);
  scenario.finish();
}

TEST_P(ProxyConformance, SendsThroughHostMemoryOfASharedGpu) {
  FabricSettings settings;
  settings.topology = "h200-1x1";
  settings.ranks = 2;
  Scenario scenario(GetParam(), settings, small_chunks());
  scenario.transfer(Rank(0), Rank(1), 64_KiB);
  scenario.transfer(Rank(1), Rank(0), 30001_B);
  scenario.finish();
}

}  // namespace
}  // namespace hoccl::engine
