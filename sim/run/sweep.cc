#include "sim/run/sweep.h"

#include <cstring>
#include <functional>
#include <string>

#include "engine/base/check.h"
#include "engine/trace/leg_times.h"
#include "engine/trace/trace_recorder.h"
#include "sim/run/fork_pool.h"
#include "sim/run/simulate.h"

namespace hoccl::sim {

using engine::RunResult;

namespace {

std::string to_bytes(const RunResult& result) {
  std::string text(sizeof(result), '\0');
  std::memcpy(text.data(), &result, sizeof(result));
  return text;
}

RunResult from_bytes(const std::string& text) {
  RunResult result;
  HOCCL_CHECK(text.size() == sizeof(result), "a result of {} bytes", text.size());
  std::memcpy(&result, text.data(), sizeof(result));
  return result;
}

std::vector<RunResult> simulate_each(std::span<const engine::Bytes> sizes, int jobs,
                                     const std::function<RunResult(std::size_t)>& one) {
  const auto task = [&](std::size_t i) { return to_bytes(one(i)); };
  const auto label = [&](std::size_t i) { return "size " + engine::to_string(sizes[i]); };
  std::vector<RunResult> results;
  for (const std::string& text : run_forked(sizes.size(), jobs, task, label)) {
    results.push_back(from_bytes(text));
  }
  return results;
}

}  // namespace

std::vector<RunResult> simulate_sizes(const Scenario& scenario,
                                      std::span<const engine::Bytes> sizes, int jobs) {
  return simulate_each(sizes, jobs,
                       [&](std::size_t i) { return simulate(scenario, sizes[i], nullptr); });
}

std::vector<RunResult> simulate_sizes(const Scenario& scenario,
                                      std::span<const engine::Bytes> sizes,
                                      std::span<const int> iterations, int jobs) {
  HOCCL_CHECK(iterations.size() == sizes.size(), "{} numbers of iterations for {} sizes",
              iterations.size(), sizes.size());
  return simulate_each(sizes, jobs, [&](std::size_t i) {
    Scenario one = scenario;
    one.iterations = iterations[i];
    return simulate(one, sizes[i], nullptr);
  });
}

std::vector<RunResult> simulate_legs(const Scenario& scenario, std::span<const engine::Bytes> sizes,
                                     int jobs) {
  return simulate_each(sizes, jobs, [&](std::size_t i) {
    engine::TraceRecorder recorder;
    RunResult result = simulate(scenario, sizes[i], &recorder);
    result.legs = engine::leg_times(recorder.events());
    return result;
  });
}

}  // namespace hoccl::sim
