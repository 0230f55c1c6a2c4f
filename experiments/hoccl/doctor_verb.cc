#include "experiments/hoccl/doctor_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "engine/base/config_error.h"
#include "experiments/hoccl/resolve.h"
#include "hw/bootstrap/launch.h"
#include "hw/doctor/checks.h"

namespace hoccl::cli {
namespace {

using hw::Check;
using hw::Finding;

std::string_view to_string(Finding finding) {
  switch (finding) {
    case Finding::kOk:
      return "ok";
    case Finding::kInfo:
      return "info";
    case Finding::kWarning:
      return "warn";
    case Finding::kProblem:
      return "problem";
  }
  return "?";
}

Check check_build() {
#ifdef HOCCL_WITH_SIM
  return {"simulation", Finding::kOk, "built in", ""};
#else
  return {"simulation", Finding::kInfo, "not built", "for sim and validate: -DHOCCL_SIM=ON"};
#endif
}

/// None also where the launcher has set something wrong, which a check will tell.
std::optional<hw::Launch> find_launch() {
  try {
    return hw::read_launch_environment();
  } catch (const engine::ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace

int run_doctor(const DoctorOptions& options) {
  const std::optional<hw::Launch> launch = find_launch();
  if (launch && launch->rank != engine::Rank(0)) return 0;
  PatternOptions machine = options.pattern;
  if (launch && !machine.ranks) machine.ranks = launch->size;
  const engine::Topology topology = resolve_topology(machine);
  // Two pools of slots per GPU that a rank lives on.
  const engine::Bytes slot_memory =
      options.pattern.chunk * (2LL * options.slots * topology.rank_count());
  std::vector<Check> checks =
      hw::check_machine({.ranks = topology.rank_count(), .slot_memory = slot_memory});
  checks.push_back(check_build());
  fmt::print("# hoccl run --topology {} on host×loopback, {} rank{}\n", topology.name(),
             topology.rank_count(), topology.rank_count() == 1 ? "" : "s");
  fmt::print("{:<14} {:<8} found\n", "# check", "finding");
  for (const Check& check : checks) {
    fmt::print("{:<14} {:<8} {}{}{}\n", check.subject, to_string(check.finding), check.found,
               check.advice.empty() ? "" : " -> ", check.advice);
  }
  const auto problems = std::ranges::count(checks, Finding::kProblem, &Check::finding);
  fmt::print("# {} problem{} found\n", problems, problems == 1 ? "" : "s");
  return problems == 0 ? 0 : 1;
}

}  // namespace hoccl::cli
