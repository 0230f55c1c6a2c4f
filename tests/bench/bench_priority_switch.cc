// The priority switch at work (paper §4): how long after foreground work has begun the last
// background copy ends, and how long after it has ended the first one begins again. Host copies in
// two processes; the marks are written by a stream, the copies are seen by the trace.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "engine/trace/trace_recorder.h"
#include "hw/system/monotonic_clock.h"
#include "tests/hw/job/hw_ranks.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::StreamId;

constexpr int kPulses = 20;
/// Shorter than the patience of background work, longer than any reaction.
constexpr std::chrono::milliseconds kForeground(5);
constexpr std::chrono::milliseconds kPause(5);
const StreamId kBackgroundStream(0);
const StreamId kForegroundStream(1);

struct Pulse {
  Seconds begin;
  Seconds end;
};
struct Latencies {
  std::array<double, kPulses> suspend{};
  std::array<double, kPulses> resume{};
  int count = 0;
};

engine::Plan background_plan(const engine::Topology& topology, Bytes size,
                             const engine::CompileOptions& options) {
  engine::Plan plan = engine::compile(
      engine::make_pattern({"sendrecv", Rank(0), Rank(1), size}, topology.rank_count()), topology,
      options);
  for (engine::Transfer& transfer : plan.transfers) {
    transfer.flow_class = engine::FlowClass::kBackground;
  }
  return plan;
}

/// The trace's copies around each pulse.
Latencies latencies_of(const std::vector<Pulse>& pulses, std::vector<engine::TraceEvent> copies) {
  std::ranges::sort(copies, {}, [](const engine::TraceEvent& copy) { return copy.begin; });
  Latencies latencies;
  for (const Pulse& pulse : pulses) {
    Seconds last_end = pulse.begin;
    std::optional<Seconds> next_begin;
    for (const engine::TraceEvent& copy : copies) {
      // Whatever begins well into the pulse would be a fault of the switch; it counts as late.
      if (copy.begin < pulse.end) last_end = std::max(last_end, copy.end);
      if (copy.begin >= pulse.end && !next_begin) next_begin = copy.begin;
    }
    if (!next_begin) break;  // the message was through
    const auto index = static_cast<std::size_t>(latencies.count++);
    latencies.suspend[index] = (last_end - pulse.begin).count();
    latencies.resume[index] = (*next_begin - pulse.end).count();
  }
  return latencies;
}

/// On the source: a background message with pulses of foreground work over it.
Latencies run_source(RankUnderTest& rank, const Region& source) {
  engine::TraceRecorder recorder;
  rank.fabric().record_trace(&recorder);
  const auto plan = std::make_shared<const engine::Plan>(
      background_plan(rank.fabric().topology(), source.size, rank.settings().compile));
  rank.communicator(0).run(plan, source, {}, kBackgroundStream);
  std::vector<Pulse> pulses(kPulses);
  for (Pulse& pulse : pulses) {
    HwFabric& fabric = rank.fabric();
    fabric.enqueue_callback(kForegroundStream, [&pulse] {
      std::this_thread::sleep_for(kPause);
      pulse.begin = monotonic_now();
    });
    rank.port().enqueue_foreground(kForegroundStream, true);
    fabric.enqueue_callback(kForegroundStream, [&pulse] {
      std::this_thread::sleep_for(kForeground);
      pulse.end = monotonic_now();
    });
    rank.port().enqueue_foreground(kForegroundStream, false);
  }
  rank.fabric().synchronize(kForegroundStream);
  rank.fabric().synchronize(kBackgroundStream);
  rank.fabric().record_trace(nullptr);
  return latencies_of(pulses, {recorder.events().begin(), recorder.events().end()});
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void switch_latency(benchmark::State& state) {
  const Bytes size(std::int64_t{2} << 30);
  JobSettings settings{
      engine::preset_topology("h800-2x2").with_ranks(2), {}, {}, {}, /*proxies=*/true, {}};
  settings.compile.chunk_size = Bytes(state.range(0) << 10);
  settings.pipeline.quantum = static_cast<int>(state.range(1));
  settings.options.slot_size = settings.compile.chunk_size;
  HwRanks ranks(settings, Living::kProcess);
  const Region source{ranks.allocate(Rank(0), size), Bytes(0), size};
  const Region target{ranks.allocate(Rank(1), size), Bytes(0), size};
  std::vector<double> suspends;
  std::vector<double> resumes;
  for ([[maybe_unused]] auto _ : state) {
    ranks.call(Rank(1), [target](RankUnderTest& rank) {
      const auto plan = std::make_shared<const engine::Plan>(
          background_plan(rank.fabric().topology(), target.size, rank.settings().compile));
      rank.communicator(0).run(plan, {}, target, kBackgroundStream);
    });
    const Latencies latencies =
        ranks.call(Rank(0), [source](RankUnderTest& rank) { return run_source(rank, source); });
    suspends.insert(suspends.end(), latencies.suspend.begin(),
                    latencies.suspend.begin() + latencies.count);
    resumes.insert(resumes.end(), latencies.resume.begin(),
                   latencies.resume.begin() + latencies.count);
  }
  if (suspends.empty()) {
    state.SkipWithError("no pulse fell into the message");
    return;
  }
  state.counters["pulses"] = static_cast<double>(suspends.size());
  state.counters["suspend_us"] = 1e6 * median(suspends);
  state.counters["suspend_max_us"] = 1e6 * *std::ranges::max_element(suspends);
  state.counters["resume_us"] = 1e6 * median(resumes);
  state.counters["resume_max_us"] = 1e6 * *std::ranges::max_element(resumes);
}

BENCHMARK(switch_latency)
    ->ArgNames({"chunk_kib", "quantum"})
    ->Args({2048, 8})
    ->Args({2048, 1})
    ->Args({256, 8})
    ->Args({256, 1})
    ->Iterations(2)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hoccl::hw

BENCHMARK_MAIN();
