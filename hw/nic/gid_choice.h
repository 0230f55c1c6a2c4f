#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "hw/nic/rdma_device.h"

namespace hoccl::hw {

/// The index of the GID that a queue pair of this port should have. On InfiniBand 0: its first one
/// is that of the hardware. On Ethernet a RoCE v2 one, of an IPv4 address before a global IPv6 one
/// before a link-local one, as the first can be routed in most fabrics and the last in none; of
/// equals the lowest. RoCE v1 never: it needs a network of its own. None when there is none.
std::optional<int> best_gid(const RdmaPort& port);

/// best_gid, or the one the user wants. Throws ConfigError when the port has no such entry, the
/// entry is RoCE v1, or there is nothing to choose from.
int choose_gid(const RdmaDevice& device, const RdmaPort& port, std::optional<int> wanted);

/// What to do about a port without any that can be used.
std::string no_gid_advice(const RdmaPort& port);

/// As an IPv6 address: "::ffff:10.77.0.1".
std::string gid_text(const std::array<std::byte, 16>& gid);

/// "1 (::ffff:10.77.0.1, RoCE v2)".
std::string gid_text(const GidEntry& entry);

}  // namespace hoccl::hw
