#include "experiments/hoccl/plan_verb.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/schedule/compile.h"
#include "engine/schedule/describe.h"
#include "engine/schedule/plan_json.h"
#include "engine/schedule/verifier.h"
#include "experiments/hoccl/output_file.h"
#include "experiments/hoccl/resolve.h"
#include "experiments/hoccl/traffic_options.h"
#ifdef HOCCL_WITH_SIM
#include "sim/calibration/calibration.h"
#include "sim/run/scenario.h"
#include "sim/run/sweep.h"
#endif

namespace hoccl::cli {
namespace {

// A plan is checked with the fewest slots any run can have.
constexpr int kFewestSlots = 1;

LoadedPlan compile_plan(const PatternOptions& options, engine::Bytes size) {
  engine::Topology topology = resolve_topology(options);
  const engine::Pattern pattern =
      pattern_of(resolve_traffic(options, topology), size, topology.rank_count());
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

#ifdef HOCCL_WITH_SIM
/// More ranks would take longer than somebody who wants to look at a plan waits.
constexpr int kMostRanksPredicted = 64;

/// Runs the plan once on the simulated machine, with the settings that `hoccl sim` has.
std::string predicted_time(const LoadedPlan& loaded) {
  if (loaded.topology.rank_count() > kMostRanksPredicted) {
    return fmt::format("predicted time: not simulated for more than {} ranks; see hoccl sim\n",
                       kMostRanksPredicted);
  }
  const sim::Scenario scenario{.topology = loaded.topology,
                               .calibration = sim::calibration_for(loaded.topology),
                               .plan = loaded.plan};
  const std::vector sizes = {loaded.plan.message_size};
  const engine::RunResult result = sim::simulate_sizes(scenario, sizes, 1).front();
  return fmt::format(
      "predicted time: {:.2f} us (simulated, calibration {}), {:.1f}% of the "
      "calibrated bound\n",
      engine::microseconds(result.time), scenario.calibration.machine,
      100.0 * (*result.calibrated_bound / result.time));
}
#else
std::string predicted_time(const LoadedPlan&) { return {}; }
#endif

}  // namespace

void run_plan(const PlanOptions& options) {
  require_different_files({{"--json", options.json_file}}, input_files(options.pattern));
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
  if (options.predict) fmt::print("{}", predicted_time(loaded));
}

}  // namespace hoccl::cli
