// CPU time of simulating one chunk leg with the whole pipeline: proxies, stagers, copy engines,
// queue pairs and network. Every rank sends to its counterpart on the next node, so each chunk
// makes three legs (stage-in, wire, deliver). `fluid` and `cm02` run in turn within one iteration,
// each in its own process, so that their ratio holds when the machine's speed drifts.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <string>

#include "engine/schedule/compile.h"
#include "engine/topology/topology.h"
#include "sim/run/fork_pool.h"
#include "sim/run/scenario.h"
#include "sim/run/simulate.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;

constexpr int kGpusPerNode = 8;

engine::Plan ring_of_nodes(const engine::Topology& topology, Bytes size, Bytes chunk) {
  engine::Pattern pattern;
  pattern.name = "sendrecv";
  pattern.rank_count = topology.rank_count();
  pattern.message_size = size;
  for (int rank = 0; rank < topology.rank_count(); ++rank) {
    engine::Flow flow;
    flow.source = engine::Rank(rank);
    flow.target = engine::Rank((rank + kGpusPerNode) % topology.rank_count());
    flow.size = size;
    pattern.flows.push_back(flow);
  }
  engine::CompileOptions options;
  options.chunk_size = chunk;
  return engine::compile(pattern, topology, options);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

/// CPU seconds of one whole simulation, platform included.
double run(const Scenario& scenario, Bytes size, NetworkKind network) {
  const auto task = [&](std::size_t) {
    Scenario here = scenario;
    here.network = network;
    const double begin = cpu_seconds();
    simulate(here, size, nullptr);
    return fmt::format("{}", cpu_seconds() - begin);
  };
  return std::stod(run_forked(1, 1, task, [](std::size_t) { return std::string("bench"); }).at(0));
}

void chunk_leg(benchmark::State& state) {
  const auto gpus = state.range(0);
  const Bytes chunk = engine::parse_bytes("1MiB");
  const Bytes size = chunk * state.range(1);
  const engine::Topology topology =
      engine::resolve_topology(fmt::format("h800-{}x{}", gpus / kGpusPerNode, kGpusPerNode));
  Scenario scenario{topology, calibration_for(topology), "hoccl", "sendrecv", {}, {}, {}, {}, {}};
  scenario.plan = ring_of_nodes(topology, size, chunk);
  scenario.compile.chunk_size = chunk;
  scenario.warmup = 0;
  double legs = 0;
  for (const engine::Transfer& transfer : scenario.plan->transfers) {
    legs += static_cast<double>(engine::chunks_of(transfer, chunk)) *
            (transfer.route == engine::Route::kStaged ? 3 : 1);
  }
  double fluid = 0;
  double cm02 = 0;
  for (auto _ : state) {
    const double this_fluid = run(scenario, size, NetworkKind::kFluid);
    cm02 += run(scenario, size, NetworkKind::kCm02);
    fluid += this_fluid;
    state.SetIterationTime(this_fluid);
  }
  const double total = legs * static_cast<double>(state.iterations());
  state.counters["legs"] = legs;
  state.counters["fluid_us_per_leg"] = fluid / total * 1e6;
  state.counters["cm02_us_per_leg"] = cm02 / total * 1e6;
  state.counters["cm02_over_fluid"] = cm02 / fluid;
}

// GPUs, chunks per rank: about 48,000 legs each.
BENCHMARK(chunk_leg)
    ->Args({16, 1024})
    ->Args({256, 64})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.5);

}  // namespace
}  // namespace hoccl::sim

BENCHMARK_MAIN();
