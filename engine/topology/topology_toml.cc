#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "engine/base/strict_toml.h"
#include "engine/topology/limits.h"
#include "engine/topology/topology.h"
#include "engine/topology/validate.h"

namespace hoccl::engine {
namespace {

constexpr std::int64_t kSchema = 1;

int get_int(StrictToml& table, std::string_view key, int low, int high) {
  return static_cast<int>(table.get_integer(key, low, high));
}

std::vector<int> get_ints(StrictToml& table, std::string_view key, int low, int high) {
  std::vector<int> result;
  for (const std::int64_t value : table.get_integers(key, low, high)) {
    result.push_back(static_cast<int>(value));
  }
  return result;
}

BytesPerSecond get_positive_rate(StrictToml& table, std::string_view key) {
  const BytesPerSecond rate = table.get_rate(key);
  if (rate.value() <= 0.0 || rate > kMaxRate) {
    table.fail(key, fmt::format("a rate above zero and at most {}", to_string(kMaxRate)));
  }
  return rate;
}

class TopologyReader {
 public:
  TopologyReader(StrictToml file, std::string name)
      : file_(std::move(file)), name_(std::move(name)) {}

  TopologyDescription read() {
    result_.name =
        file_.has("name") ? file_.get_string("name") : std::filesystem::path(name_).stem().string();
    read_nodes();
    read_kinds();
    read_links();
    if (!file_.has("nic")) {
      read_uniform_nics();
    } else {
      read_nic_tables();
    }
    check_rails();
    read_switch_tiers();
    read_ranks();
    file_.finish();
    validate(result_, name_);
    return std::move(result_);
  }

 private:
  void read_nodes() {
    const int nodes = get_int(file_, "nodes", 1, kMaxNodes);
    if (!file_.is_list("gpus_per_node")) {
      const int gpus = get_int(file_, "gpus_per_node", 1, kMaxGpusPerNode);
      result_.gpus_per_node.assign(static_cast<std::size_t>(nodes), gpus);
      return;
    }
    result_.gpus_per_node = get_ints(file_, "gpus_per_node", 1, kMaxGpusPerNode);
    if (static_cast<int>(result_.gpus_per_node.size()) != nodes) {
      file_.fail("gpus_per_node", fmt::format("one count, or a list of {} (nodes)", nodes));
    }
  }

  void read_kinds() {
    if (file_.has("shared_device")) result_.shared_device = file_.get_bool("shared_device");
    if (file_.has("staging")) {
      const std::string staging = file_.get_string("staging");
      if (staging != "peer" && staging != "host") file_.fail("staging", "\"peer\" or \"host\"");
      result_.staging = staging == "peer" ? StagingKind::kPeer : StagingKind::kHost;
    }
    if (file_.has("wire")) {
      const std::string wire = file_.get_string("wire");
      if (wire != "nic" && wire != "map") file_.fail("wire", "\"nic\" or \"map\"");
      result_.wire = wire == "nic" ? WireKind::kNic : WireKind::kMap;
    }
  }

  void read_links() {
    StrictToml nvlink = file_.get_table("nvlink");
    result_.nvlink = {get_positive_rate(nvlink, "out"), get_positive_rate(nvlink, "in")};
    nvlink.finish();
    note("nvlink.out", to_string(result_.nvlink.out));
    note("nvlink.in", to_string(result_.nvlink.in));
    StrictToml pcie = file_.get_table("pcie");
    result_.pcie = {get_positive_rate(pcie, "one_way"), get_positive_rate(pcie, "duplex_each")};
    if (pcie.has("wire_shares")) result_.wire_shares_pcie = pcie.get_bool("wire_shares");
    pcie.finish();
    note("pcie.one_way", to_string(result_.pcie.one_way));
    note("pcie.duplex_each", to_string(result_.pcie.duplex_each));
    note("pcie.wire_shares", result_.wire_shares_pcie ? "true" : "false");
  }

  /// `nics_per_gpu` NICs next to every GPU, all of `nic_rate`.
  void read_uniform_nics() {
    const int per_gpu = get_int(file_, "nics_per_gpu", 0, kMaxNicsPerGpu);
    BytesPerSecond rate(0.0);
    if (per_gpu > 0) {
      rate = read_nic_rate(file_, "nic_rate");
      note("nic_rate", to_string(rate));
    }
    for (int node = 0; node < node_count(); ++node) {
      for (int i = 0; i < gpus_of(node) * per_gpu; ++i) {
        result_.nics.push_back({node, i / per_gpu, rate});
      }
    }
  }

  /// [[nic]] tables: NICs next to GPU `gpu`, of one `node` or of every node that has this GPU. The
  /// order of the tables is the order of the rails.
  void read_nic_tables() {
    for (const std::string_view key : {"nics_per_gpu", "nic_rate"}) {
      if (file_.has(key)) file_.fail(key, "either this key or [[nic]] tables, not both");
    }
    const int most_gpus = *std::ranges::max_element(result_.gpus_per_node);
    std::vector<std::vector<NicDescription>> by_node(result_.gpus_per_node.size());
    std::size_t number = 0;
    for (StrictToml& table : file_.get_tables("nic")) {
      std::optional<int> only;
      if (table.has("node")) only = get_int(table, "node", 0, node_count() - 1);
      const int gpu = get_int(table, "gpu", 0, (only ? gpus_of(*only) : most_gpus) - 1);
      const BytesPerSecond rate = read_nic_rate(table, "rate");
      table.finish();
      note(fmt::format("nic[{}].rate", number++), to_string(rate));
      for (int node = 0; node < node_count(); ++node) {
        const bool listed = only ? node == *only : gpu < gpus_of(node);
        if (listed) by_node[static_cast<std::size_t>(node)].push_back({node, gpu, rate});
      }
    }
    for (const auto& nics : by_node) {
      result_.nics.insert(result_.nics.end(), nics.begin(), nics.end());
    }
  }

  BytesPerSecond read_nic_rate(StrictToml& table, std::string_view key) const {
    if (result_.wire == WireKind::kNic) return get_positive_rate(table, key);
    if (table.has(key)) table.fail(key, "no rate, because nothing moves on a map wire");
    return BytesPerSecond(std::numeric_limits<double>::infinity());
  }

  /// `rails` only states what the NICs give, so that a slip in either is noticed.
  void check_rails() {
    if (!file_.has("rails")) return;
    const int rails = get_int(file_, "rails", 0, kMaxGpusPerNode * kMaxNicsPerGpu);
    for (int node = 0; node < node_count(); ++node) {
      const auto nics = std::ranges::count(result_.nics, node, &NicDescription::node);
      if (nics != rails) file_.fail("rails", fmt::format("{}, the NICs of node {}", nics, node));
    }
  }

  void read_switch_tiers() {
    for (StrictToml& table : file_.get_tables("switch_tier")) {
      constexpr double kMostOversubscribed = 100.0;
      SwitchTier tier;
      tier.name = table.get_string("name");
      tier.nodes_per_switch = get_int(table, "nodes_per_switch", 1, kMaxNodes);
      tier.oversubscription = table.get_number("oversubscription", 1.0, kMostOversubscribed);
      if (table.has("rail_aligned")) tier.rail_aligned = table.get_bool("rail_aligned");
      table.finish();
      note(fmt::format("switch_tier[{}].oversubscription", result_.switch_tiers.size()),
           fmt::format("{}", tier.oversubscription));
      result_.switch_tiers.push_back(std::move(tier));
    }
  }

  /// `ranks` lists the cluster-wide GPU number of each rank.
  void read_ranks() {
    if (!file_.has("ranks")) return;
    int gpus = 0;
    for (const int count : result_.gpus_per_node) gpus += count;
    result_.rank_gpus = get_ints(file_, "ranks", 0, gpus - 1);
    if (result_.rank_gpus.empty()) file_.fail("ranks", "at least one GPU number");
  }

  void note(std::string key, std::string value) {
    result_.sources.push_back({std::move(key), std::move(value), name_});
  }

  [[nodiscard]] int node_count() const { return static_cast<int>(result_.gpus_per_node.size()); }
  [[nodiscard]] int gpus_of(int node) const {
    return result_.gpus_per_node[static_cast<std::size_t>(node)];
  }

  StrictToml file_;
  std::string name_;
  TopologyDescription result_;
};

}  // namespace

Topology load_topology(const std::string& path) {
  return Topology(TopologyReader(StrictToml::open(path, kSchema), path).read());
}

Topology parse_topology(std::string_view text, const std::string& file) {
  return Topology(TopologyReader(StrictToml::parse(text, file, kSchema), file).read());
}

}  // namespace hoccl::engine
