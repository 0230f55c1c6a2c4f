#pragma once

#include <cstdint>

#include "engine/base/random.h"
#include "sim/calibration/calibration.h"

namespace hoccl::sim {

/// Whose buffers change from operation to operation, and what registering them meets.
struct RegistrationLoad {
  bool every_operation = false;  ///< dynamic tensors: register, use, deregister
  double busy_share = 0.0;       ///< of the registrations that find the driver busy
  std::uint64_t seed = 1;
};

/// How long each registration takes.
class Registrations {
 public:
  Registrations(const RegistrationConstants& constants, const RegistrationLoad& load)
      : constants_(constants), load_(load), random_(load.seed) {}

  /// Of the next operation; nothing where buffers stay.
  engine::Seconds next();

 private:
  RegistrationConstants constants_;
  RegistrationLoad load_;
  engine::Random random_;
};

}  // namespace hoccl::sim
