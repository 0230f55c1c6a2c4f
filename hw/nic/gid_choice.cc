#include "hw/nic/gid_choice.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"

namespace hoccl::hw {
namespace {

using Gid = std::array<std::byte, 16>;

std::string_view to_string(GidKind kind) {
  switch (kind) {
    case GidKind::kInfiniBand:
      return "InfiniBand";
    case GidKind::kRoceV1:
      return "RoCE v1";
    case GidKind::kRoceV2:
      return "RoCE v2";
  }
  return "?";
}

/// ::ffff:a.b.c.d
bool is_ipv4(const Gid& gid) {
  const auto marker = gid.begin() + 10;
  return std::all_of(gid.begin(), marker, [](std::byte part) { return part == std::byte(0); }) &&
         marker[0] == std::byte(0xff) && marker[1] == std::byte(0xff);
}

/// fe80::/10
bool is_link_local(const Gid& gid) {
  return gid[0] == std::byte(0xfe) && (gid[1] & std::byte(0xc0)) == std::byte(0x80);
}

/// Less is better.
int reach_of(const Gid& gid) {
  if (is_ipv4(gid)) return 0;
  return is_link_local(gid) ? 2 : 1;
}

std::vector<GidEntry> usable_gids(const RdmaPort& port) {
  std::vector<GidEntry> usable;
  for (const GidEntry& entry : port.gids) {
    if (entry.kind != GidKind::kRoceV1) usable.push_back(entry);
  }
  return usable;
}

/// "0 (…), 1 (…) or 2 (…)"
std::string listed(const std::vector<GidEntry>& entries) {
  std::string text;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i != 0) text += i + 1 == entries.size() ? " or " : ", ";
    text += gid_text(entries[i]);
  }
  return text;
}

std::string wrong_index(const RdmaDevice& device, const RdmaPort& port, int wanted,
                        const std::vector<GidEntry>& usable) {
  const bool is_roce_v1 = std::ranges::find(port.gids, wanted, &GidEntry::index) != port.gids.end();
  return fmt::format("gid index {}: {} port {} has {}; expected {}", wanted, device.name,
                     port.number, is_roce_v1 ? "a RoCE v1 entry there" : "no such entry",
                     usable.empty() ? "0" : listed(usable));
}

}  // namespace

std::optional<int> best_gid(const RdmaPort& port) {
  // Also where its table cannot be read: within a subnet the LID is enough.
  if (port.is_infiniband) return 0;
  const std::vector<GidEntry> usable = usable_gids(port);
  const auto best = std::ranges::min_element(usable, {}, [](const GidEntry& entry) {
    return std::pair(reach_of(entry.gid), entry.index);
  });
  if (best == usable.end()) return std::nullopt;
  return best->index;
}

int choose_gid(const RdmaDevice& device, const RdmaPort& port, std::optional<int> wanted) {
  const std::optional<int> best = best_gid(port);
  if (!best) {
    throw engine::ConfigError(fmt::format("gid index{}: {} port {} has no RoCE v2 entry at all; {}",
                                          wanted ? fmt::format(" {}", *wanted) : "", device.name,
                                          port.number, no_gid_advice(port)));
  }
  if (!wanted || *wanted == *best) return *best;
  const std::vector<GidEntry> usable = usable_gids(port);
  if (std::ranges::find(usable, *wanted, &GidEntry::index) == usable.end()) {
    throw engine::ConfigError(wrong_index(device, port, *wanted, usable));
  }
  return *wanted;
}

std::string no_gid_advice(const RdmaPort& port) {
  const auto named = std::ranges::find_if(
      port.gids, [](const GidEntry& entry) { return !entry.net_device.empty(); });
  if (named == port.gids.end()) {
    return "give its network interface (`rdma link` names it) an IP address, and bring it up";
  }
  return fmt::format("give {0} an IP address (ip address add … dev {0}), and bring it up",
                     named->net_device);
}

std::string gid_text(const Gid& gid) {
  std::array<char, INET6_ADDRSTRLEN> text = {};
  return ::inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
}

std::string gid_text(const GidEntry& entry) {
  return fmt::format("{} ({}, {})", entry.index, gid_text(entry.gid), to_string(entry.kind));
}

}  // namespace hoccl::hw
