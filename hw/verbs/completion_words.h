#pragma once

#include <string>
#include <string_view>

#include "hw/verbs/nic_address.h"
#include "hw/verbs/verbs_raii.h"

namespace hoccl::hw {

/// A GID as people write it: an IPv4 address where it holds one, else an IPv6 address.
std::string to_string(const std::array<std::byte, 16>& gid);

/// What usually makes a request end so; empty where nothing is usual.
std::string_view likely_cause(ibv_wc_status status);

/// A failed request in words: "transport retry counter exceeded (12, vendor 129) from rxe0
/// 10.77.0.1 to 10.77.0.2: no answer; ...".
std::string describe_failure(ibv_wc_status status, std::uint32_t vendor_code,
                             const std::string& device, const NicAddress& local,
                             const NicAddress& remote);

/// The packets found no way, or no answer: the same request may succeed on another path. Else the
/// queue pair itself, or the request, was at fault.
bool is_path_failure(ibv_wc_status status);

}  // namespace hoccl::hw
