#include "experiments/hoccl/calibrate_verb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/topology/topology.h"
#include "experiments/hoccl/calibrate_report.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/registration_report.h"
#include "hw/calibrate/calibrate.h"
#include "hw/calibrate/measured_constants.h"
#include "hw/calibrate/registration_cost.h"
#include "sim/calibration/calibration.h"
#include "sim/calibration/calibration_writer.h"

namespace hoccl::cli {
namespace {

using engine::ConfigError;

hw::Samples read_recorded(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw ConfigError(fmt::format("--samples = '{}': cannot be read", file));
  try {
    return hw::read_samples(stream);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("--samples = '{}': {}", file, error.what()));
  }
}

hw::MachineSamples take_samples(const CalibrateOptions& options) {
  if (!options.samples_file.empty()) {
    return {.samples = read_recorded(options.samples_file), .failures = {}};
  }
  const std::vector<std::string> gate_words = {"calibrate", "--gates-only", "--device",
                                               std::to_string(options.device)};
  return hw::measure_machine(options.device, gate_words,
                             [](std::string_view done) { fmt::print(stderr, "# {}\n", done); });
}

/// What was measured replaces what the base has; the rest keeps its source.
sim::Calibration calibrate(sim::Calibration base, const hw::Samples& samples,
                           const std::vector<hw::MeasuredConstant>& constants) {
  for (const hw::MeasuredConstant& constant : constants) {
    base.set(constant.key, constant.value, {.source = constant.source});
  }
  base.machine =
      fmt::format("{} (what it cannot measure: {})", samples.machine.device, base.machine);
  return base;
}

void run_registration(const CalibrateOptions& options) {
  const hw::RegistrationRequest request{.device = options.registration,
                                        .begin = options.begin,
                                        .end = options.end,
                                        .rounds = options.rounds};
  hw::require_registration(request);
  const auto csv = open_output("--csv", options.csv_file);
  const RegistrationHead head{.command = fmt::format("hoccl {}", fmt::join(options.words, " ")),
                              .machine = hw::describe_registration(options.registration),
                              .rounds = options.rounds};
  const hw::Samples samples = hw::measure_registration(
      request, [](std::string_view done) { fmt::print(stderr, "# {}\n", done); });
  print_registrations(head, samples);
  if (!csv) return;
  write_registrations(csv->stream(), head, samples);
  csv->commit();
}

}  // namespace

int run_calibrate(const CalibrateOptions& options) {
  if (!options.registration.empty()) {
    run_registration(options);
    return 0;
  }
  if (options.gates_only) {
    hw::write_samples(std::cout, hw::measure_gates_here(options.device));
    return 0;
  }
  if (options.out_file.empty()) {
    throw ConfigError("hoccl calibrate: expected --out FILE, the calibration to write");
  }
  const engine::Topology topology = engine::resolve_topology(options.topology);
  const sim::Calibration base = sim::resolve_calibration(options.base);
  require_different_files({{"--out", options.out_file}, {"--csv", options.csv_file}},
                          {preset_or_file("--base", options.base),
                           preset_or_file("--topology", options.topology),
                           {"--samples", options.samples_file}});
  if (options.samples_file.empty()) hw::require_gpu(options.device);
  const auto out = open_output("--out", options.out_file);
  const auto csv = open_output("--csv", options.csv_file);
  const hw::MachineSamples taken = take_samples(options);
  // First of all: whatever is wrong with what follows, they are not measured again.
  if (csv) {
    hw::write_samples(csv->stream(), taken.samples);
    csv->commit();
  }
  print_samples(taken.samples);
  const std::vector<hw::MeasuredConstant> constants =
      hw::measured_constants(taken.samples, topology);
  const sim::Calibration calibration = calibrate(base, taken.samples, constants);
  print_constants(constants, base);
  sim::write_calibration(out->stream(), calibration,
                         fmt::format("Written by hoccl calibrate on {}; what it did not measure is "
                                     "from {}.",
                                     taken.samples.machine.date, options.base));
  out->commit();
  for (const std::string& failure : taken.failures) {
    fmt::print(stderr, "hoccl calibrate: {}\n", failure);
  }
  return taken.failures.empty() ? 0 : 1;
}

}  // namespace hoccl::cli
