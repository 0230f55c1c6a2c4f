#include "engine/schedule/port_loads.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/compile.h"
#include "tests/engine/schedule/plan_examples.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;

std::vector<Bytes> times_8_mib(const std::vector<int>& counts) {
  std::vector<Bytes> result;
  for (const int count : counts) result.push_back(8_MiB * count);
  return result;
}

TEST(PortLoads, CountAStageInOnceAWirePerNodeAndADeliverPerTarget) {
  const BroadcastExample example;
  const PortLoads loads = loads_of(example.plan, example.topology);
  EXPECT_EQ(loads.nic_out, times_8_mib({0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(loads.nic_in, times_8_mib({0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0}));
  // GPU 0: the push to rank 1, the stage-in for both nodes, and that of its own share. GPUs 1 and 2
  // pass on; 2 is relayed through too. GPUs 5 and 9 are pulled from; 6 and 11 push to them.
  EXPECT_EQ(loads.nvlink_out, times_8_mib({3, 1, 2, 0, 0, 3, 1, 0, 0, 3, 0, 1}));
  EXPECT_EQ(loads.nvlink_in, times_8_mib({1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  // Pushed and pulled; GPU 0 pulls its own share.
  std::vector<Bytes> copied;
  for (const auto& device : loads.copied) copied.push_back(device[0]);
  EXPECT_EQ(copied, times_8_mib({4, 1, 1, 0, 1, 0, 2, 1, 1, 0, 1, 2}));
}

TEST(PortLoads, ARelayThroughHostMemoryCrossesPcieBothWays) {
  const Topology topology = host_staged_cluster(1, 2);
  Plan plan = BroadcastExample().plan;
  plan.transfers.erase(plan.transfers.begin(), plan.transfers.begin() + 6);
  plan.transfers[0].via = topology.host_place(NodeId(0));
  const PortLoads loads = loads_of(plan, topology);
  EXPECT_EQ(loads.pcie_out, times_8_mib({1, 0}));
  EXPECT_EQ(loads.pcie_in, times_8_mib({1, 0}));
  EXPECT_EQ(loads.nvlink_out, times_8_mib({0, 0}));
  EXPECT_EQ(loads.copied[0][static_cast<std::size_t>(CopyClass::kDeviceToHost)], 8_MiB);
  EXPECT_EQ(loads.copied[0][static_cast<std::size_t>(CopyClass::kHostToDevice)], 8_MiB);
}

/// Rank 0 of 2x2 to rank 2, from buffer to buffer.
PortLoads registered_loads(const Topology& topology) {
  const CompileOptions options{.forwarding = Forwarding::kOwnNic};
  return loads_of(compile(send_recv(4, Rank(0), Rank(2), 8_MiB), topology, options), topology);
}

TEST(PortLoads, ARegisteredTransferLoadsItsWireAlone) {
  const PortLoads loads = registered_loads(cluster(2, 2));
  EXPECT_EQ(loads.nic_out, times_8_mib({1, 0, 0, 0}));
  EXPECT_EQ(loads.nic_in, times_8_mib({0, 0, 1, 0}));
  for (const auto& ports : {loads.nvlink_out, loads.nvlink_in, loads.pcie_out, loads.pcie_in}) {
    EXPECT_EQ(ports, times_8_mib({0, 0, 0, 0}));
  }
  for (const auto& device : loads.copied) {
    for (const Bytes copied : device) EXPECT_EQ(copied, 0_B);
  }
}

TEST(PortLoads, ARegisteredTransferCrossesThePciePortsOfItsGpusOnceWhereTheyAreItsWay) {
  TopologyDescription shared = cluster_description(2, 2);
  shared.wire_shares_pcie = true;
  TopologyDescription shared_in_host = shared;
  shared_in_host.staging = StagingKind::kHost;
  // Host memory has no slots for it: the NIC reads the GPU's memory there as well.
  for (const Topology& topology :
       {Topology(shared), Topology(shared_in_host), host_staged_cluster(2, 2)}) {
    const PortLoads loads = registered_loads(topology);
    EXPECT_EQ(loads.pcie_out, times_8_mib({1, 0, 0, 0}));
    EXPECT_EQ(loads.pcie_in, times_8_mib({0, 0, 1, 0}));
  }
}

}  // namespace
}  // namespace hoccl::engine
