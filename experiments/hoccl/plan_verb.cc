#include "experiments/hoccl/plan_verb.h"

#include <fmt/format.h>

#include <optional>

#include "engine/schedule/compile.h"
#include "engine/schedule/describe.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/verifier.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/resolve.h"
#ifdef HOCCL_WITH_SIM
#include "sim/calibration/calibration.h"
#endif

namespace hoccl::cli {
namespace {

// A plan is checked with the fewest slots any run can have.
constexpr int kFewestSlots = 1;

LoadedPlan compile_plan(const PatternOptions& options, engine::Bytes size) {
  engine::Topology topology = resolve_topology(options);
  const engine::Pattern pattern = resolve_pattern(options, topology, size);
  engine::Plan plan = engine::compile(pattern, topology, compile_options(options));
  engine::verify(
      plan, &pattern, topology,
      {.slot_size = plan.chunk_size, .send_slots = kFewestSlots, .receive_slots = kFewestSlots});
  return {std::move(plan), std::move(topology)};
}

std::optional<engine::Rates> calibrated_rates([[maybe_unused]] const engine::Topology& topology) {
#ifdef HOCCL_WITH_SIM
  return sim::calibration_for(topology).rates(topology);
#else
  return std::nullopt;  // the calibrations belong to the simulation
#endif
}

}  // namespace

void run_plan(const PlanOptions& options) {
  require_different_files({{"--json", options.json_file}},
                          {preset_or_file("--topology", options.pattern.topology)});
  const LoadedPlan loaded =
      options.load_file.empty()
          ? compile_plan(options.pattern, options.size)
          : load_plan_for(options.load_file, options.pattern.topology, kFewestSlots);
  if (const auto file = open_output("--json", options.json_file)) {
    file->stream() << engine::plan_to_json(loaded.plan);
    file->commit();
  }
  fmt::print("{}",
             engine::describe(loaded.plan, loaded.topology, calibrated_rates(loaded.topology)));
}

}  // namespace hoccl::cli
