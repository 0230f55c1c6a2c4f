#include "experiments/hoccl/doctor_verb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "experiments/hoccl/resolve.h"
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

}  // namespace

int run_doctor(const DoctorOptions& options) {
  const engine::Topology topology = resolve_topology(options.pattern);
  // Two pools of slots per GPU that a rank lives on.
  const engine::Bytes slot_memory =
      options.pattern.chunk * (2LL * options.slots * topology.rank_count());
  std::vector<Check> checks =
      hw::check_machine({.ranks = topology.rank_count(), .slot_memory = slot_memory});
  checks.push_back(check_build());
  fmt::print("# hoccl run --topology {} on host×loopback, {} ranks\n", topology.name(),
             topology.rank_count());
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
