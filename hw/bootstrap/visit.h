#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/channel.h"
#include "hw/bootstrap/deadline.h"

namespace hoccl::hw {

/// Who visits whom, and where.
struct Meeting {
  engine::Rank self;
  int job_size = 0;
  engine::Rank server;
  std::string host;                  ///< empty: this machine's loopback
  std::vector<std::uint16_t> ports;  ///< tried in turn
  MacKey key{};                      ///< of this kind of server
};

/// With rank 0, as the launch says.
Meeting meeting_with_rank_0(const Launch& launch);

/// Connects to the server and proves to be a rank of the job. Throws BootstrapError when it does
/// not appear before the deadline, or refuses this rank.
Channel visit(const Meeting& meeting, const BootstrapOptions& options, const Deadline& deadline);

}  // namespace hoccl::hw
