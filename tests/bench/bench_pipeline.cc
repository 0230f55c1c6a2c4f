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

/// Every rank sends `size` to the next node: to its counterpart there, or spread over all ranks.
engine::Plan to_next_node(const engine::Topology& topology, Bytes size, Bytes chunk, bool dense) {
  engine::Pattern pattern;
  pattern.name = "bench";
  pattern.rank_count = topology.rank_count();
  pattern.message_size = size;
  const int targets = dense ? kGpusPerNode : 1;
  for (int rank = 0; rank < topology.rank_count(); ++rank) {
    const int next_node = (rank / kGpusPerNode + 1) * kGpusPerNode;
    for (int i = 0; i < targets; ++i) {
      engine::Flow flow;
      flow.source = engine::Rank(rank);
      flow.target = engine::Rank((next_node + (rank + i) % kGpusPerNode) % topology.rank_count());
      flow.size = size / targets;
      flow.source_offset = flow.size * i;
      flow.target_offset = flow.size * (rank % targets);
      pattern.flows.push_back(flow);
    }
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

void run_pairs(benchmark::State& state, bool dense) {
  const auto gpus = state.range(0);
  const Bytes chunk = engine::parse_bytes("1MiB");
  const Bytes size = chunk * state.range(1);
  const engine::Topology topology =
      engine::resolve_topology(fmt::format("h800-{}x{}", gpus / kGpusPerNode, kGpusPerNode));
  Scenario scenario{.topology = topology, .calibration = calibration_for(topology)};
  scenario.plan = to_next_node(topology, size, chunk, dense);
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

void counterpart_leg(benchmark::State& state) { run_pairs(state, false); }
void all_pairs_leg(benchmark::State& state) { run_pairs(state, true); }

void sizes(benchmark::internal::Benchmark* bench) {
  // GPUs, chunks per rank. Long enough that building the platform is a small part.
  bench->Args({16, 1024})->Args({256, 256});
  bench->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.5);
}

BENCHMARK(counterpart_leg)->Apply(sizes);
BENCHMARK(all_pairs_leg)->Apply(sizes);

}  // namespace
}  // namespace hoccl::sim

BENCHMARK_MAIN();
