// What waiting costs: eight processes wait for messages that nobody sends. Target: below 2 % of a
// core each.

#include <benchmark/benchmark.h>

#include "tests/hw/job/idle_cost.h"

namespace hoccl::hw {
namespace {

constexpr engine::Seconds kWaiting(5.0);

void waiting_process(benchmark::State& state) {
  for (auto _ : state) {
    state.counters["busiest_cpu_pct"] = 100 * idle_cost(8, kWaiting);
    state.SetIterationTime(kWaiting.count());
  }
}

BENCHMARK(waiting_process)->UseManualTime()->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace hoccl::hw

BENCHMARK_MAIN();
