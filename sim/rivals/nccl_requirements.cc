#include "sim/rivals/nccl_requirements.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/config_error.h"

namespace hoccl::sim {
namespace {

using engine::ConfigError;
using engine::Rank;
using engine::Topology;

// MAXCHANNELS of NCCL 2.30 (src/include/device.h).
constexpr int kMaxChannels = 64;

}  // namespace

void require_nccl_topology(const Topology& topology) {
  const auto refuse = [&](std::string_view expected) {
    throw ConfigError(
        fmt::format("system nccl: topology '{}': expected {}", topology.name(), expected));
  };
  if (topology.shared_device()) refuse("one rank per physical GPU (NCCL: duplicate GPU detected)");
  if (topology.wire() != engine::WireKind::kNic) refuse("wire legs over NICs");
  for (int rank = 0; rank < topology.rank_count() && topology.node_count() > 1; ++rank) {
    if (topology.nics_of(topology.gpu_of(Rank(rank))).empty()) refuse("a NIC next to every GPU");
  }
}

bool is_nccl_system(std::string_view system) { return system.starts_with("nccl:"); }

int parse_nccl_channels(std::string_view system) {
  constexpr std::string_view kPrefix = "nccl:";
  constexpr std::string_view kSuffix = "sm";
  std::string_view digits = system;
  int channels = 0;
  if (digits.starts_with(kPrefix) && digits.ends_with(kSuffix)) {
    digits.remove_prefix(kPrefix.size());
    digits.remove_suffix(kSuffix.size());
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), channels);
    if (error != std::errc() || end != digits.data() + digits.size()) channels = 0;
  }
  if (channels < 1 || channels > kMaxChannels) {
    throw ConfigError(fmt::format(
        "system = '{}': expected nccl:<k>sm with k from 1 to {}, nccl:zero, vccl or hoccl", system,
        kMaxChannels));
  }
  return channels;
}

}  // namespace hoccl::sim
