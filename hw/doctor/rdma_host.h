#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace hoccl::hw {

/// What the checks of RDMA look at, so that tests can show them another host.
struct RdmaHost {
  std::filesystem::path sys = "/sys";
  std::filesystem::path dev = "/dev";
  std::string kernel_release = {};                     ///< as "6.8.0-45-generic"
  std::optional<std::uint64_t> locked_bytes_max = {};  ///< RLIMIT_MEMLOCK; none: unlimited
  bool may_lock_all = false;                           ///< that limit does not hold
  bool has_verbs_link = false;                         ///< this program has --link verbs
};

RdmaHost this_rdma_host();

}  // namespace hoccl::hw
