#pragma once

#include <string>
#include <vector>

#include "engine/topology/topology.h"
#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

/// One constant of the model, as its calibration file has it.
struct MeasuredConstant {
  std::string key;     ///< "copy_engine_d2h.setup"
  std::string value;   ///< with its unit
  std::string source;  ///< machine, number of samples, spread, how
};

/// Every constant that the samples tell; one whose samples are missing is left out. Efficiencies
/// are shares of the topology's rates. Throws CalibrationFailed when the samples make no sense.
std::vector<MeasuredConstant> measured_constants(const Samples& samples,
                                                 const engine::Topology& topology);

/// What the engines of one copy class are, of the samples.
struct CopyRates {
  engine::BytesPerSecond one_way;
  engine::BytesPerSecond both_ways;  ///< 0: not measured
};
/// Of "d2h", "h2d", "peer"; zeros where nothing was measured.
CopyRates copy_rates(const Samples& samples, const std::string& copy_class);

}  // namespace hoccl::hw
