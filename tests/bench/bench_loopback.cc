// How much of a machine's memory bandwidth the pipeline keeps: two processes, host copies, slots
// that change owner (loopback-map), against one memcpy after another of the same bytes, which is
// what the two copy legs do at least. Both run in turn within one iteration, so that their ratio
// holds when the machine's speed drifts.

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "hw/system/monotonic_clock.h"
#include "tests/hw/job/hw_ranks.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::StreamId;

JobSettings two_nodes_of_one_rank() {
  JobSettings settings{
      engine::preset_topology("h800-2x2").with_ranks(2), {}, {}, {}, /*proxies=*/true, {}};
  settings.options.link = LinkKind::kLoopbackMap;
  settings.options.slot_size = settings.compile.chunk_size;
  return settings;
}

/// From the first rank's call until the message lies in the second rank's buffer.
Seconds transfer(HwRanks& ranks, const Region& source, const Region& target) {
  const Seconds begin = monotonic_now();
  ranks.call(Rank(0), [source](RankUnderTest& rank) {
    rank.communicator(0).send(source, Rank(1), StreamId(0));
  });
  ranks.call(Rank(1), [target](RankUnderTest& rank) {
    rank.communicator(0).receive(target, Rank(0), StreamId(0));
    rank.fabric().synchronize(StreamId(0));
  });
  return monotonic_now() - begin;
}

Seconds copy_twice(const std::vector<std::byte>& source, std::vector<std::byte>& between,
                   std::vector<std::byte>& target) {
  const Seconds begin = monotonic_now();
  std::memcpy(between.data(), source.data(), source.size());
  benchmark::ClobberMemory();
  std::memcpy(target.data(), between.data(), source.size());
  benchmark::ClobberMemory();
  return monotonic_now() - begin;
}

void against_memcpy(benchmark::State& state) {
  const Bytes size(state.range(0) << 20);
  HwRanks ranks(two_nodes_of_one_rank(), Living::kProcess);
  const Region source{ranks.allocate(Rank(0), size), Bytes(0), size};
  const Region target{ranks.allocate(Rank(1), size), Bytes(0), size};
  ranks.fill(source, 1);
  const auto bytes = static_cast<std::size_t>(size.count());
  const std::vector<std::byte> first(bytes, std::byte{1});
  std::vector<std::byte> second(bytes);
  std::vector<std::byte> third(bytes);
  transfer(ranks, source, target);  // touches every page and every slot once
  Seconds transfers(0.0);
  Seconds copies(0.0);
  for ([[maybe_unused]] auto _ : state) {
    copies += copy_twice(first, second, third);
    const Seconds time = transfer(ranks, source, target);
    transfers += time;
    state.SetIterationTime(time.count());
  }
  if (!ranks.holds(target, 1)) state.SkipWithError("wrong bytes");
  const double total = static_cast<double>(size.count()) * static_cast<double>(state.iterations());
  state.counters["algbw_gb_per_s"] = total / transfers.count() * 1e-9;
  state.counters["memcpy_twice_gb_per_s"] = total / copies.count() * 1e-9;
  state.counters["ratio"] = copies / transfers;
}

BENCHMARK(against_memcpy)->Arg(64)->Arg(256)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hoccl::hw

BENCHMARK_MAIN();
