#pragma once

#include "hw/calibrate/sample_series.h"
#include "hw/fabric/hw_options.h"

namespace hoccl::hw {

/// What proxies of this machine spend on their own work and in the GPU's driver while they run
/// patterns on threads of this process, all on one GPU (`device`; no matter where the host copies):
/// kProxyWork, kIdleStep, kCallInUse and kLaunchCall, one sample per run. Throws CalibrationFailed.
void measure_proxies(CopyKind copy, int device, Samples& samples);

}  // namespace hoccl::hw
