// Planning time of an AllToAllv on one core: what the ranks of one node do at every call, from the
// matrix to their part of the plan, and what a cache hit costs instead.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "engine/pattern/pattern.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/compile_matrix.h"
#include "engine/schedule/decomposition.h"
#include "engine/schedule/plan_cache.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

using namespace literals;

constexpr int kGpusPerNode = 8;
constexpr std::uint64_t kSeed = 7;
constexpr Bytes kSentPerRank = 1_GiB;

Topology cluster_of(int gpus) {
  return preset_topology(fmt::format("h800-{}x{}", gpus / kGpusPerNode, kGpusPerNode));
}

CompileOptions options_of(int quantise_percent) {
  return {.chunk_size = 2_MiB,
          .forwarding = Forwarding::kBalanced,
          .quantise = 0.01 * quantise_percent};
}

/// GPUs, matrix kind, quantisation in percent.
void plan_of_a_node(benchmark::State& state) {
  const auto gpus = static_cast<int>(state.range(0));
  const auto kind = static_cast<MatrixKind>(state.range(1));
  const CompileOptions options = options_of(static_cast<int>(state.range(2)));
  const Topology topology = cluster_of(gpus);
  const TrafficMatrix matrix = draw_matrix(kind, gpus, kSentPerRank, kSeed);
  const NodeId node(gpus / kGpusPerNode / 2);
  std::size_t transfers = 0;
  for (auto _ : state) {
    const Plan plan = compile_matrix_for_node(matrix, false, topology, options, node);
    transfers = plan.transfers.size();
    benchmark::DoNotOptimize(transfers);
  }
  state.SetLabel(std::string(to_string(kind)));
  state.counters["transfers"] = static_cast<double>(transfers);
}

void all_kinds(benchmark::internal::Benchmark* bench) {
  for (const int gpus : {64, 256, 1024}) {
    for (const MatrixKind kind : matrix_kinds()) {
      for (const int percent : {0, 5}) bench->Args({gpus, static_cast<int>(kind), percent});
    }
  }
  bench->Unit(benchmark::kMicrosecond)->MinTime(0.1);
}

BENCHMARK(plan_of_a_node)->Apply(all_kinds);

/// A pattern that is fixed by its request.
void static_cache_hit(benchmark::State& state) {
  const Topology topology = cluster_of(static_cast<int>(state.range(0)));
  PlanCache cache(topology, 16);
  PatternRequest request;
  const CompileOptions options = options_of(0);
  for (const std::string_view name : {"allgather", "broadcast", "scatter", "gather", "alltoall"}) {
    request.name = name;
    request.size = kSentPerRank;
    cache.get_for_node(request, options, NodeId(0));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.get_for_node(request, options, NodeId(0)).get());
  }
}

void matrix_cache_hit(benchmark::State& state) {
  const auto gpus = static_cast<int>(state.range(0));
  const Topology topology = cluster_of(gpus);
  PlanCache cache(topology, 16);
  const CompileOptions options = options_of(0);
  TrafficMatrix matrix;
  for (const MatrixKind kind : matrix_kinds()) {
    matrix = draw_matrix(kind, gpus, kSentPerRank, kSeed);
    cache.get_for_node(matrix, false, options, NodeId(0));
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.get_for_node(matrix, false, options, NodeId(0)).get());
  }
}

BENCHMARK(static_cache_hit)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);
BENCHMARK(matrix_cache_hit)->Arg(16)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace hoccl::engine

BENCHMARK_MAIN();
