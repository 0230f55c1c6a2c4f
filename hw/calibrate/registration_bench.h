#pragma once

#include "hw/calibrate/registration_cost.h"

namespace hoccl::hw {

/// measure_registration() where libibverbs is built in.
Samples measure_with_verbs(const RegistrationRequest& request, const Progress& progress);

}  // namespace hoccl::hw
