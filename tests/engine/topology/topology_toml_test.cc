#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>

#include "engine/base/config_error.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using ::testing::ElementsAre;

constexpr const char* kLinks = R"(
[nvlink]
out = "200GB/s"
in = "180GB/s"
[pcie]
one_way = "55.3GB/s"
duplex_each = "49.5GB/s"
)";

/// A file whose top-level keys are `top` and which ends with `tail`.
std::string file(const std::string& top, const std::string& tail = "") {
  return "schema = 1\n" + top + kLinks + tail;
}

const std::string kUniform =
    "nodes = 2\ngpus_per_node = 4\nnics_per_gpu = 1\nnic_rate = '50GB/s'\n";
const std::string kNoNics = "nodes = 2\ngpus_per_node = 4\n";

Topology parse(const std::string& text) { return parse_topology(text, "lab.toml"); }

TEST(TopologyToml, ReadsAUniformCluster) {
  const Topology topology = parse(file(kUniform));
  EXPECT_EQ(topology.name(), "lab");
  EXPECT_EQ(topology.node_count(), 2);
  EXPECT_EQ(topology.rank_count(), 8);
  EXPECT_EQ(topology.rail_count(), 4);
  EXPECT_EQ(topology.nvlink().out, 200_GBps);
  EXPECT_EQ(topology.nvlink().in, 180_GBps);
  EXPECT_EQ(topology.pcie().one_way, 55.3_GBps);
  EXPECT_EQ(topology.pcie().duplex_each, 49.5_GBps);
  EXPECT_FALSE(topology.wire_shares_pcie());
  EXPECT_EQ(topology.staging(), StagingKind::kPeer);
  EXPECT_EQ(topology.wire(), WireKind::kNic);
  EXPECT_EQ(topology.nic(NicId(7)).gpu, GpuId(7));
}

TEST(TopologyToml, ReadsUnequalNodesAndSeveralNicsPerGpu) {
  const Topology topology =
      parse(file("name = 'mixed'\nnodes = 2\ngpus_per_node = [4, 2]\nnics_per_gpu = 2\n"
                 "nic_rate = '400Gb/s'\n"));
  EXPECT_EQ(topology.name(), "mixed");
  EXPECT_EQ(topology.gpu_count(), 6);
  EXPECT_EQ(topology.nic_count(), 12);
  EXPECT_EQ(topology.rail_count(), 8);
  EXPECT_THAT(topology.nics_of(GpuId(4)), ElementsAre(NicId(8), NicId(9)));
  EXPECT_EQ(topology.nic(NicId(9)).rate, 50_GBps);
}

TEST(TopologyToml, ReadsNicTablesForEveryNodeThatHasTheGpu) {
  const Topology topology = parse(file("nodes = 2\ngpus_per_node = [4, 2]\n",
                                       "[[nic]]\ngpu = 3\nrate = '25GB/s'\n"
                                       "[[nic]]\ngpu = 0\nrate = '50GB/s'\n"
                                       "[[nic]]\nnode = 1\ngpu = 0\nrate = '12.5GB/s'\n"));
  ASSERT_EQ(topology.nic_count(), 4);
  // The order of the tables is the order of the rails; node 1 has no GPU 3.
  EXPECT_EQ(topology.nic(NicId(0)).gpu, GpuId(3));
  EXPECT_EQ(topology.nic(NicId(0)).rail, 0);
  EXPECT_EQ(topology.nic(NicId(1)).gpu, GpuId(0));
  EXPECT_EQ(topology.nic(NicId(2)).node, NodeId(1));
  EXPECT_EQ(topology.nic(NicId(2)).rail, 0);
  EXPECT_EQ(topology.nic(NicId(3)).rate, 12.5_GBps);
  EXPECT_EQ(topology.nic(NicId(3)).rail, 1);
}

TEST(TopologyToml, ReadsSwitchTiersRanksAndRails) {
  const Topology topology = parse(file(kUniform + "rails = 4\nranks = [4, 0, 5, 1]\n",
                                       "[[switch_tier]]\nname = 'leaf'\nnodes_per_switch = 1\n"
                                       "oversubscription = 2\nrail_aligned = true\n"));
  ASSERT_EQ(topology.switch_tiers().size(), 1U);
  EXPECT_EQ(topology.switch_tiers()[0].name, "leaf");
  EXPECT_TRUE(topology.switch_tiers()[0].rail_aligned);
  EXPECT_DOUBLE_EQ(topology.uplink_rate(0, 0).value(), 50e9 / 2);
  EXPECT_EQ(topology.rank_count(), 4);
  EXPECT_EQ(topology.gpu_of(Rank(0)), GpuId(4));
  EXPECT_EQ(topology.gpu_of(Rank(3)), GpuId(1));
}

TEST(TopologyToml, DescribesASharedDeviceLikeThePreset) {
  const Topology topology = parse(
      "schema = 1\nnodes = 2\ngpus_per_node = 1\nnics_per_gpu = 1\nshared_device = true\n"
      "staging = 'host'\nwire = 'map'\n[nvlink]\nout = '450GB/s'\nin = '450GB/s'\n[pcie]\n"
      "one_way = '55.3GB/s'\nduplex_each = '49.5GB/s'\nwire_shares = false\n");
  const Topology preset = preset_topology("h200-1x1");
  EXPECT_EQ(topology.device_count(), preset.device_count());
  EXPECT_EQ(topology.staging(), preset.staging());
  EXPECT_EQ(topology.wire(), preset.wire());
  EXPECT_EQ(topology.pcie().one_way, preset.pcie().one_way);
  EXPECT_TRUE(std::isinf(topology.nic(NicId(1)).rate.value()));
  EXPECT_EQ(topology.with_ranks(3).node_count(), 3);
}

TEST(TopologyToml, ASingleNodeNeedsNoNic) {
  const Topology topology = parse(file("nodes = 1\ngpus_per_node = 8\nnics_per_gpu = 0\n"));
  EXPECT_EQ(topology.nic_count(), 0);
  EXPECT_EQ(topology.rail_count(), 0);
}

TEST(TopologyToml, NamesTheFileAsTheSourceOfItsValues) {
  const Topology topology = parse(file(kUniform));
  ASSERT_FALSE(topology.description().sources.empty());
  for (const SourcedValue& value : topology.description().sources) {
    EXPECT_EQ(value.source, "lab.toml") << value.key;
  }
}

TEST(TopologyToml, IsReadFromAFileByItsEnding) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "topology_toml_is_read.toml";
  std::ofstream(path) << file(kUniform);
  EXPECT_EQ(resolve_topology(path.string()).name(), "topology_toml_is_read");
  std::filesystem::remove(path);
  try {
    resolve_topology(path.string());
    FAIL() << "read a file that is not there";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(), path.string() + ": cannot be opened: expected a readable TOML file");
  }
}

struct Malformed {
  std::string what;
  std::string text;
  std::string message;
};

void PrintTo(const Malformed& malformed, std::ostream* out) { *out << malformed.what; }

class MalformedTopology : public ::testing::TestWithParam<Malformed> {};

TEST_P(MalformedTopology, IsRefusedInOneLineNamingFileKeyAndExpectation) {
  try {
    parse(GetParam().text);
    FAIL() << "accepted, expected: " << GetParam().message;
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(), "lab.toml: " + GetParam().message);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "missing: " + from : text.replace(at, from.size(), to);
}

std::string nic(const std::string& body) { return file(kNoNics, "[[nic]]\n" + body + "\n"); }

std::string tier(const std::string& body) {
  return file(kUniform, "[[switch_tier]]\nname = 'leaf'\n" + body + "\n");
}

const std::string kRateExpected = "expected a rate above zero and at most 100000GB/s";

INSTANTIATE_TEST_SUITE_P(
    Nodes, MalformedTopology,
    ::testing::Values(
        Malformed{"NoSchema", replaced(file(kUniform), "schema = 1", ""),
                  "key 'schema' is missing: expected 1, the version this program reads"},
        Malformed{"OtherSchema", replaced(file(kUniform), "schema = 1", "schema = 3"),
                  "key 'schema' = 3: expected 1, the version this program reads"},
        Malformed{"NoNodes", file("gpus_per_node = 4\n"),
                  "key 'nodes' is missing: expected a whole number from 1 to 128"},
        Malformed{"ZeroNodes", file("nodes = 0\ngpus_per_node = 4\n"),
                  "key 'nodes' = 0: expected a whole number from 1 to 128"},
        Malformed{"NodesInQuotes", file("nodes = '2'\ngpus_per_node = 4\n"),
                  "key 'nodes' = '2': expected a whole number from 1 to 128"},
        Malformed{"TooManyGpus", file("nodes = 1\ngpus_per_node = 73\n"),
                  "key 'gpus_per_node' = 73: expected a whole number from 1 to 72"},
        Malformed{"ListOfWrongLength", file("nodes = 3\ngpus_per_node = [4, 2]\n"),
                  "key 'gpus_per_node' = [4, 2]: expected one count, or a list of 3 (nodes)"},
        Malformed{"ZeroInList", file("nodes = 2\ngpus_per_node = [4, 0]\n"),
                  "key 'gpus_per_node' = [4, 0]: expected a list of whole numbers from 1 to 72"},
        Malformed{"UnknownKey", file(kUniform + "oversubscripton = 2\n"),
                  "key 'oversubscripton' = 2: unknown key; expected one of gpus_per_node, name, "
                  "nic, nic_rate, nics_per_gpu, nodes, nvlink, pcie, rails, ranks, schema, "
                  "shared_device, staging, switch_tier, wire"},
        Malformed{"MistypedKey", file(kUniform + "stagin = 'peer'\n"),
                  "key 'stagin' = 'peer': unknown key; did you mean 'staging'?"}),
    [](const auto& test) { return test.param.what; });

INSTANTIATE_TEST_SUITE_P(
    Links, MalformedTopology,
    ::testing::Values(
        Malformed{"NoNvlink", "schema = 1\n" + kUniform,
                  "key 'nvlink' is missing: expected a table [nvlink]"},
        Malformed{"BareNumber", replaced(file(kUniform), "\"200GB/s\"", "200"),
                  "key 'nvlink.out' = 200: expected a rate with a unit in quotes, such as "
                  "\"50GB/s\""},
        Malformed{"NoUnit", replaced(file(kUniform), "\"200GB/s\"", "'200'"),
                  "key 'nvlink.out' = '200': '200' has no unit; expected a rate with a unit, such "
                  "as 50GB/s"},
        Malformed{"ZeroRate", replaced(file(kUniform), "180GB/s", "0GB/s"),
                  "key 'nvlink.in' = '0GB/s': " + kRateExpected},
        Malformed{"AbsurdRate", replaced(file(kUniform), "180GB/s", "180000TB/s"),
                  "key 'nvlink.in' = '180000TB/s': " + kRateExpected},
        Malformed{"NegativeRate", replaced(file(kUniform), "55.3GB/s", "-55.3GB/s"),
                  "key 'pcie.one_way' = '-55.3GB/s': '-55.3GB/s' is negative or not finite; "
                  "expected a rate with a unit, such as 50GB/s"},
        Malformed{"DuplexAboveOneWay", replaced(file(kUniform), "49.5GB/s", "60GB/s"),
                  "key 'pcie.duplex_each' = 60GB/s: expected at most pcie.one_way, 55.3GB/s"},
        Malformed{"MistypedLinkKey",
                  replaced(file(kUniform), "duplex_each = \"49.5GB/s\"",
                           "duplex_each = \"49.5GB/s\"\nwire_share = true"),
                  "key 'pcie.wire_share' = true: unknown key; did you mean 'wire_shares'?"},
        Malformed{"NoSuchStaging", file(kUniform + "staging = 'gpu'\n"),
                  "key 'staging' = 'gpu': expected \"peer\" or \"host\""},
        Malformed{"NoSuchWire", file(kUniform + "wire = 'ib'\n"),
                  "key 'wire' = 'ib': expected \"nic\" or \"map\""},
        Malformed{"SharedFlagIsNoFlag", file(kUniform + "shared_device = 'yes'\n"),
                  "key 'shared_device' = 'yes': expected true or false"},
        Malformed{"SharedDeviceWithPeers", file(kUniform + "shared_device = true\n"),
                  "key 'gpus_per_node' = 4: expected 1, because a shared device has one logical "
                  "node per rank"}),
    [](const auto& test) { return test.param.what; });

INSTANTIATE_TEST_SUITE_P(
    Nics, MalformedTopology,
    ::testing::Values(
        Malformed{"NoNicKeys", file(kNoNics),
                  "key 'nics_per_gpu' is missing: expected a whole number from 0 to 16"},
        Malformed{"NoRate", file(kNoNics + "nics_per_gpu = 1\n"),
                  "key 'nic_rate' is missing: expected a rate with a unit in quotes, such as "
                  "\"50GB/s\""},
        Malformed{"RateWithoutNics",
                  file("nodes = 1\ngpus_per_node = 4\nnics_per_gpu = 0\n"
                       "nic_rate = '50GB/s'\n"),
                  "key 'nic_rate' = '50GB/s': unknown key; expected one of gpus_per_node, name, "
                  "nic, nics_per_gpu, nodes, nvlink, pcie, rails, ranks, schema, shared_device, "
                  "staging, switch_tier, wire"},
        Malformed{"SeveralNodesWithoutNics", file(kNoNics + "nics_per_gpu = 0\n"),
                  "key 'nic' = none: expected at least one NIC on node 0, because there are "
                  "several nodes"},
        Malformed{"BothWays", file(kUniform, "[[nic]]\ngpu = 0\nrate = '50GB/s'\n"),
                  "key 'nics_per_gpu' = 1: expected either this key or [[nic]] tables, not both"},
        Malformed{"NicOfNoGpu", nic("gpu = 4\nrate = '50GB/s'"),
                  "key 'nic[0].gpu' = 4: expected a whole number from 0 to 3"},
        Malformed{"NicOfNoNode", nic("node = 2\ngpu = 0\nrate = '50GB/s'"),
                  "key 'nic[0].node' = 2: expected a whole number from 0 to 1"},
        Malformed{"NicWithoutRate", nic("gpu = 0"),
                  "key 'nic[0].rate' is missing: expected a rate with a unit in quotes, such as "
                  "\"50GB/s\""},
        Malformed{"NicUnknownKey", nic("gpu = 0\nrate = '50GB/s'\nspeed = 1"),
                  "key 'nic[0].speed' = 1: unknown key; expected one of gpu, node, rate"},
        Malformed{"NicIsNoTable", file(kNoNics + "nic = 3\n"),
                  "key 'nic' = 3: expected tables [[nic]]"},
        Malformed{"RateOnMap", file(kUniform + "wire = 'map'\n"),
                  "key 'nic_rate' = '50GB/s': expected no rate, because nothing moves on a map "
                  "wire"},
        Malformed{"WrongRails", file(kUniform + "rails = 8\n"),
                  "key 'rails' = 8: expected 4, the NICs of node 0"}),
    [](const auto& test) { return test.param.what; });

INSTANTIATE_TEST_SUITE_P(
    SwitchesAndRanks, MalformedTopology,
    ::testing::Values(
        Malformed{"NoOversubscription", tier("nodes_per_switch = 1"),
                  "key 'switch_tier[0].oversubscription' is missing: expected a number from 1 to "
                  "100"},
        Malformed{"GainingSwitch", tier("nodes_per_switch = 1\noversubscription = 0.5"),
                  "key 'switch_tier[0].oversubscription' = 0.5: expected a number from 1 to 100"},
        Malformed{"EmptySwitch", tier("nodes_per_switch = 0\noversubscription = 1"),
                  "key 'switch_tier[0].nodes_per_switch' = 0: expected a whole number from 1 to "
                  "128"},
        Malformed{"TiersThatDoNotNest",
                  tier("nodes_per_switch = 2\noversubscription = 1\n[[switch_tier]]\n"
                       "name = 'spine'\nnodes_per_switch = 3\noversubscription = 1"),
                  "key 'switch_tier[1].nodes_per_switch' = 3: expected a multiple of 2, the nodes "
                  "below a switch of the tier below"},
        Malformed{"RankOnNoGpu", file(kUniform + "ranks = [0, 8]\n"),
                  "key 'ranks' = [0, 8]: expected a list of whole numbers from 0 to 7"},
        Malformed{"RankTwice", file(kUniform + "ranks = [0, 1, 0]\n"),
                  "key 'ranks' = 0: expected each GPU at most once"},
        Malformed{"NoRanks", file(kUniform + "ranks = []\n"),
                  "key 'ranks' = []: expected at least one GPU number"}),
    [](const auto& test) { return test.param.what; });

TEST(TopologyToml, ASyntaxErrorNamesItsLine) {
  try {
    parse("schema = 1\nnodes = = 2\n");
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("lab.toml: line 2: "));
  }
}

}  // namespace
}  // namespace hoccl::engine
