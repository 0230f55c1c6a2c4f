#pragma once

#include <optional>
#include <string>

#include "engine/base/units.h"

namespace hoccl::hw {

/// Of the link `verbs`. Equal on all ranks of a job.
struct VerbsOptions {
  /// Which NICs serve a node's NICs of the topology: see hw/nic/nic_choice.h; empty: automatic.
  std::string devices = {};
  /// None: RoCE v2 with an IPv4 address first, see hw/nic/gid_choice.h.
  std::optional<int> gid_index = std::nullopt;
  /// Of the path; none: the smaller one of both ports.
  std::optional<int> mtu_bytes = std::nullopt;
  /// Of packets (the IPv6 traffic class, which is DSCP and ECN), and InfiniBand's service level.
  int traffic_class = 0;
  int service_level = 0;
  /// A packet that nobody answers is sent again after 4.096 us * 2^timeout, `retries` times; then
  /// the queue pair has failed: after 3.8 s with 17 and 6. NCCL waits about 30 s (20 and 7), but
  /// moves nothing to another path. Less than 17 sends packets twice where a CPU plays the NIC
  /// (tests/rdma-vm/README.md has the counts).
  int timeout = 17;
  int retries = 6;
  /// Between two looks whether a path that has failed works again.
  engine::Seconds probe_interval{1.0};
  /// NICs may write to memory in any order: that all of a chunk is there is told by an immediate.
  bool relaxed_ordering = true;

  bool operator==(const VerbsOptions&) const = default;
};

}  // namespace hoccl::hw
