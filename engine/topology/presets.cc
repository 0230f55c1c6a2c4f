#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "engine/base/config_error.h"
#include "engine/topology/limits.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr std::string_view kKnownPresets =
    "h800-<nodes>x<gpus>, h200-<nodes>x<gpus>, h200-1x1, gb200-nvl72 or a file ending in .toml";

// NVLink, per GPU and direction.
// HOCCL paper, evaluation set-up: 8 H800 a node, 200 GB/s (8 fourth-generation links of 25 GB/s).
constexpr NvlinkRates kH800Nvlink{200_GBps, 200_GBps};
constexpr std::string_view kH800NvlinkSource = "HOCCL paper, evaluation set-up";
// NVIDIA H200 data sheet: 900 GB/s, both directions together (18 links of 25 GB/s).
constexpr NvlinkRates kH200Nvlink{450_GBps, 450_GBps};
constexpr std::string_view kH200NvlinkSource = "NVIDIA H200 data sheet: 900 GB/s both directions";
// NVIDIA GB200 NVL72 data sheet: 130 TB/s over 72 GPUs, 1.8 TB/s each, both directions together.
constexpr NvlinkRates kGb200Nvlink{900_GBps, 900_GBps};
constexpr std::string_view kGb200NvlinkSource =
    "NVIDIA GB200 NVL72 data sheet: 1.8 TB/s per GPU both directions";

// PCIe 5 x16, pinned copies of 64 MiB and more: one direction alone, then both at once.
constexpr PcieRates kMeasuredPcie{55.3_GBps, 49.5_GBps};
constexpr std::string_view kMeasuredPcieSource =
    "measured on one H200, driver 580.159, CUDA 13.0, pinned copies of 64 MiB and more";
constexpr std::string_view kAssumedPcieSource =
    "assumed: the same PCIe 5 x16 port as measured on one H200, driver 580.159";
// NVIDIA Grace data sheet: NVLink-C2C 900 GB/s per superchip, both directions together; halved
// for one direction and again for the two GPUs of a superchip. The directions do not share.
constexpr PcieRates kGb200HostLink{225_GBps, 225_GBps};
constexpr std::string_view kGb200HostLinkSource =
    "NVIDIA Grace data sheet: NVLink-C2C 900 GB/s both directions, two GPUs per superchip";

// One 400 Gb/s NIC per GPU. HOCCL paper for H800; ConnectX-7, as in DGX H200 and GB200 NVL72.
constexpr BytesPerSecond kNicRate = 50_GBps;
constexpr std::string_view kH800NicSource = "HOCCL paper, evaluation set-up: 400 Gb/s per GPU";
constexpr std::string_view kConnectXSource = "NVIDIA ConnectX-7 data sheet: 400 Gb/s";

// The paper reports the wire apart from the GPU's PCIe port, and its one 48.8 GB/s flow stays
// below it either way, so the port is not charged there.
constexpr std::string_view kH800SharingSource = "assumed: not reported, does not bind at 48.8 GB/s";
constexpr std::string_view kH200SharingSource =
    "assumed: DGX H200 data path, NIC and GPU below one PCIe switch";
constexpr std::string_view kGb200SharingSource =
    "assumed: the host link is NVLink-C2C, the NIC has PCIe lanes of its own";

struct Family {
  std::string_view name;
  NvlinkRates nvlink;
  std::string_view nvlink_source;
  PcieRates pcie;
  std::string_view pcie_source;
  bool wire_shares_pcie;
  std::string_view sharing_source;
  std::string_view nic_source;
};

constexpr std::array kFamilies = {
    Family{"h800", kH800Nvlink, kH800NvlinkSource, kMeasuredPcie, kAssumedPcieSource, false,
           kH800SharingSource, kH800NicSource},
    Family{"h200", kH200Nvlink, kH200NvlinkSource, kMeasuredPcie, kMeasuredPcieSource, true,
           kH200SharingSource, kConnectXSource},
};
constexpr Family kGb200{
    "gb200", kGb200Nvlink,        kGb200NvlinkSource, kGb200HostLink, kGb200HostLinkSource,
    false,   kGb200SharingSource, kConnectXSource};

TopologyDescription describe(const Family& family, std::string_view name, int nodes, int gpus) {
  TopologyDescription result;
  result.name = name;
  result.gpus_per_node.assign(static_cast<std::size_t>(nodes), gpus);
  result.nvlink = family.nvlink;
  result.pcie = family.pcie;
  result.wire_shares_pcie = family.wire_shares_pcie;
  for (int node = 0; node < nodes; ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) result.nics.push_back({node, gpu, kNicRate});
  }
  const auto add = [&](std::string_view key, std::string value, std::string_view source) {
    result.sources.push_back({std::string(key), std::move(value), std::string(source)});
  };
  add("nvlink.out", to_string(family.nvlink.out), family.nvlink_source);
  add("nvlink.in", to_string(family.nvlink.in), family.nvlink_source);
  add("pcie.one_way", to_string(family.pcie.one_way), family.pcie_source);
  add("pcie.duplex_each", to_string(family.pcie.duplex_each), family.pcie_source);
  add("pcie.wire_shares", family.wire_shares_pcie ? "true" : "false", family.sharing_source);
  add("nic_rate", to_string(kNicRate), family.nic_source);
  return result;
}

/// One physical H200 without NIC or peer: each rank is a logical node of one GPU, the slots are in
/// host memory and the wire leg hands the slot over.
TopologyDescription describe_single_h200(std::string_view name) {
  constexpr int kDefaultRanks = 2;  // one sender, one receiver
  TopologyDescription result;
  result.name = name;
  result.gpus_per_node.assign(kDefaultRanks, 1);
  result.shared_device = true;
  result.nvlink = kH200Nvlink;
  result.pcie = kMeasuredPcie;
  result.staging = StagingKind::kHost;
  result.wire = WireKind::kMap;
  const BytesPerSecond unlimited(std::numeric_limits<double>::infinity());
  for (int node = 0; node < kDefaultRanks; ++node) result.nics.push_back({node, 0, unlimited});
  result.sources = {
      {"pcie.one_way", to_string(kMeasuredPcie.one_way), std::string(kMeasuredPcieSource)},
      {"pcie.duplex_each", to_string(kMeasuredPcie.duplex_each), std::string(kMeasuredPcieSource)},
      {"wire", "map", "the machine has no NIC: the slot changes owner, nothing moves"},
  };
  return result;
}

/// A whole number without sign or leading zero, and the rest of the text.
std::optional<int> take_number(std::string_view& text) {
  if (text.empty() || text.front() < '1' || text.front() > '9') return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct Shape {
  int nodes;
  int gpus;
};

std::optional<Shape> parse_shape(std::string_view text) {
  const std::optional<int> nodes = take_number(text);
  if (!nodes || !text.starts_with('x')) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> gpus = take_number(text);
  if (!gpus || !text.empty()) return std::nullopt;
  return Shape{*nodes, *gpus};
}

}  // namespace

Topology preset_topology(std::string_view name) {
  if (name == "h200-1x1") return Topology(describe_single_h200(name));
  if (name == "gb200-nvl72") return Topology(describe(kGb200, name, 1, 72));
  for (const Family& family : kFamilies) {
    if (!name.starts_with(family.name)) continue;
    const std::string_view rest = name.substr(family.name.size());
    const std::optional<Shape> shape =
        rest.starts_with('-') ? parse_shape(rest.substr(1)) : std::nullopt;
    if (!shape) break;
    if (shape->nodes > kMaxNodes || shape->gpus > kMaxGpusPerNode) {
      throw ConfigError(fmt::format("topology '{}': expected 1 to {} nodes and 1 to {} GPUs a node",
                                    name, kMaxNodes, kMaxGpusPerNode));
    }
    return Topology(describe(family, name, shape->nodes, shape->gpus));
  }
  throw ConfigError(fmt::format("topology '{}': expected {}", name, kKnownPresets));
}

Topology resolve_topology(const std::string& preset_or_file) {
  return preset_or_file.ends_with(".toml") ? load_topology(preset_or_file)
                                           : preset_topology(preset_or_file);
}

}  // namespace hoccl::engine
