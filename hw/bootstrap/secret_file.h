#pragma once

#include <string>

#include "hw/bootstrap/job_secret.h"

namespace hoccl::hw {

/// The job secret in a file that only its owner, this user, may read. Throws ConfigError naming the
/// file.
JobSecret read_secret_file(const std::string& path);

}  // namespace hoccl::hw
