#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "hw/bootstrap/job_secret.h"

namespace hoccl::hw {

/// How this process was started as one rank of a job.
struct Launch {
  std::string launcher;  ///< "hoccl", "mpirun", "srun", "torchrun"
  engine::Rank rank;
  int size = 0;
  /// Where rank 0 listens: host and port, or an empty host when it is this machine's loopback.
  std::string host;
  /// Tried in turn: the first free one is bound by rank 0, a stranger on one is recognised by its
  /// lack of the secret.
  std::vector<std::uint16_t> ports;
  JobSecret secret = JobSecret::generate();
  /// Rank 0 only: an already listening socket inherited from the launcher. Bootstrap::connect()
  /// closes it.
  int listening_socket = -1;
};

/// Reads the environment that mpirun, srun, torchrun or our own launcher sets; nothing when none
/// did. Throws ConfigError naming the variable, its value and what was expected.
std::optional<Launch> read_launch_environment();

}  // namespace hoccl::hw
