#include "engine/topology/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/base/config_error.h"
#include "engine/topology/limits.h"

namespace hoccl::engine {
namespace {

class Validator {
 public:
  Validator(const TopologyDescription& topology, std::string_view place)
      : topology_(topology), place_(place) {}

  void nodes() const;
  void rates() const;
  void nics() const;
  void switches() const;
  void ranks() const;

 private:
  template <class Value>
  void expect(bool holds, std::string_view key, const Value& value,
              std::string_view expected) const {
    if (holds) return;
    throw ConfigError(fmt::format("{}: key '{}' = {}: expected {}", place_, key, value, expected));
  }

  void expect_rate(std::string_view key, BytesPerSecond rate) const {
    // Written so that NaN fails too.
    expect(rate.value() > 0.0 && rate <= kMaxRate, key, to_string(rate),
           fmt::format("a rate above zero and at most {}", to_string(kMaxRate)));
  }

  const TopologyDescription& topology_;
  std::string_view place_;
};

void Validator::nodes() const {
  const auto nodes = static_cast<int>(topology_.gpus_per_node.size());
  expect(nodes >= 1 && nodes <= kMaxNodes, "nodes", nodes, fmt::format("1 to {}", kMaxNodes));
  for (const int gpus : topology_.gpus_per_node) {
    expect(gpus >= 1 && gpus <= kMaxGpusPerNode, "gpus_per_node", gpus,
           fmt::format("1 to {}", kMaxGpusPerNode));
    // Logical GPUs of one node would copy within the device, which no copy engine does.
    expect(!topology_.shared_device || gpus == 1, "gpus_per_node", gpus,
           "1, because a shared device has one logical node per rank");
  }
  if (!topology_.shared_device) return;
  expect(nodes <= kMaxLogicalNodes, "nodes", nodes,
         fmt::format("1 to {} on a shared device", kMaxLogicalNodes));
  expect(topology_.staging == StagingKind::kHost, "staging", to_string(topology_.staging),
         "host, because a shared device has no peer");
}

void Validator::rates() const {
  expect_rate("nvlink.out", topology_.nvlink.out);
  expect_rate("nvlink.in", topology_.nvlink.in);
  expect_rate("pcie.one_way", topology_.pcie.one_way);
  expect_rate("pcie.duplex_each", topology_.pcie.duplex_each);
  expect(topology_.pcie.duplex_each <= topology_.pcie.one_way, "pcie.duplex_each",
         to_string(topology_.pcie.duplex_each),
         fmt::format("at most pcie.one_way, {}", to_string(topology_.pcie.one_way)));
}

void Validator::nics() const {
  std::vector<int> nics_of_node(topology_.gpus_per_node.size(), 0);
  for (const NicDescription& nic : topology_.nics) {
    expect(nic.node >= 0 && static_cast<std::size_t>(nic.node) < nics_of_node.size(), "nic.node",
           nic.node, fmt::format("0 to {}", nics_of_node.size() - 1));
    const auto node = static_cast<std::size_t>(nic.node);
    const int gpus = topology_.gpus_per_node[node];
    expect(nic.gpu >= 0 && nic.gpu < gpus, "nic.gpu", nic.gpu,
           fmt::format("0 to {}, a GPU of node {}", gpus - 1, nic.node));
    ++nics_of_node[node];
    if (topology_.wire == WireKind::kNic) {
      expect_rate("nic_rate", nic.rate);
    } else {
      expect(std::isinf(nic.rate.value()), "nic_rate", to_string(nic.rate),
             "no rate, because nothing moves on a map wire");
    }
  }
  if (nics_of_node.size() == 1) return;
  const auto bare = std::ranges::find(nics_of_node, 0);
  expect(bare == nics_of_node.end(), "nic", "none",
         fmt::format("at least one NIC on node {}, because there are several nodes",
                     bare - nics_of_node.begin()));
}

void Validator::switches() const {
  const SwitchTier* below = nullptr;
  for (std::size_t i = 0; i < topology_.switch_tiers.size(); ++i) {
    const SwitchTier& tier = topology_.switch_tiers[i];
    const auto key = [i](std::string_view field) {
      return fmt::format("switch_tier[{}].{}", i, field);
    };
    expect(topology_.wire == WireKind::kNic, key("name"), tier.name, "no switch on a map wire");
    const int step = below == nullptr ? 1 : below->nodes_per_switch;
    expect(tier.nodes_per_switch >= step && tier.nodes_per_switch % step == 0,
           key("nodes_per_switch"), tier.nodes_per_switch,
           fmt::format("a multiple of {}, the nodes below a switch of the tier below", step));
    expect(std::isfinite(tier.oversubscription) && tier.oversubscription >= 1.0,
           key("oversubscription"), tier.oversubscription, "a ratio of at least 1");
    expect(!tier.rail_aligned || below == nullptr || below->rail_aligned, key("rail_aligned"),
           tier.rail_aligned, "false, because the tier below joins the rails");
    below = &tier;
  }
}

void Validator::ranks() const {
  const int gpus =
      std::accumulate(topology_.gpus_per_node.begin(), topology_.gpus_per_node.end(), 0);
  std::set<int> used;
  for (const int gpu : topology_.rank_gpus) {
    expect(gpu >= 0 && gpu < gpus, "ranks", gpu, fmt::format("GPU numbers from 0 to {}", gpus - 1));
    // Two ranks on one GPU would need a copy within it; logical GPUs express that case.
    expect(used.insert(gpu).second, "ranks", gpu, "each GPU at most once");
  }
}

}  // namespace

void validate(const TopologyDescription& description, std::string_view place) {
  const Validator validator(description, place);
  validator.nodes();
  validator.rates();
  validator.nics();
  validator.switches();
  validator.ranks();
}

}  // namespace hoccl::engine
