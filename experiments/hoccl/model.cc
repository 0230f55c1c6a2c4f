#include "experiments/hoccl/model.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"

namespace hoccl::cli {

sim::Calibration resolve_calibration(const ModelOptions& options,
                                     const engine::Topology& topology) {
  sim::Calibration calibration = options.calibration.empty()
                                     ? sim::calibration_for(topology)
                                     : sim::resolve_calibration(options.calibration);
  for (const std::string& assignment : options.assignments) calibration.set(assignment);
  return calibration;
}

std::string describe_calibration(const ModelOptions& options, const sim::Calibration& calibration) {
  std::string text = calibration.machine;
  for (const std::string& assignment : options.assignments) text += ", " + assignment;
  return text;
}

sim::NetworkKind resolve_network(const std::string& name) {
  try {
    return sim::parse_network_kind(name);
  } catch (const engine::ConfigError& error) {
    throw engine::ConfigError(fmt::format("--network: {}", error.what()));
  }
}

}  // namespace hoccl::cli
