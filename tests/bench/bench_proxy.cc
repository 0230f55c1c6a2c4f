// What a chunk costs the proxies' CPUs apart from the GPU's driver: as counted on a GPU, the time
// of the steps in which a proxy heard or posted anything. Two ranks of one process on loopback-map,
// both stepped by this thread; a model in place of the copy engines, so that no other thread runs.
// Target: at most 1 us per chunk and rank.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "engine/communicator.h"
#include "engine/forwarding_port.h"
#include "engine/pipeline/proxy.h"
#include "engine/topology/topology.h"
#include "hw/bootstrap/thread_ranks.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Lane;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::StreamId;
using engine::Ticket;

constexpr int kRanks = 2;
constexpr std::int64_t kChunks = 1024;
/// Nothing moves, so the chunks need no memory; an engine takes as long as for 1 MiB.
constexpr Bytes kChunkSize(4096);
constexpr Seconds kCopyTime(20e-6);

/// Copy engines that only take time, each one batch after the other, and ring no bell.
class TimedCopies final : public engine::ForwardingPort {
 public:
  using ForwardingPort::ForwardingPort;

  Ticket post_copy(Lane lane, const engine::CopyRequest& /*request*/) override {
    activity_ += 1;
    LaneState& state = state_of(lane);
    state.lane = lane;
    state.open += 1;
    state.posted += 1;
    return Ticket(state.posted);
  }
  void flush() override {
    activity_ += 1;
    for (LaneState& lane : lanes_) {
      if (lane.open == 0) continue;
      Seconds& free_at = free_at_[static_cast<std::size_t>(lane.lane.copy_class)];
      free_at = std::max(free_at, monotonic_now()) + kCopyTime * static_cast<double>(lane.open);
      lane.batches.push_back({lane.posted, free_at});
      lane.open = 0;
    }
  }
  Ticket post_write(engine::QueuePairId queue_pair, const engine::WriteRequest& request) override {
    activity_ += 1;
    return ForwardingPort::post_write(queue_pair, request);
  }
  void post_message(Rank target, const engine::Message& message) override {
    activity_ += 1;
    ForwardingPort::post_message(target, message);
  }
  std::size_t poll(std::span<engine::Completion> out) override {
    std::size_t count = ForwardingPort::poll(out);
    const Seconds time = now();
    for (LaneState& lane : lanes_) {
      if (lane.batches.empty() || count == out.size()) continue;
      if (lane.batches.front().end > time) continue;
      out[count++] = engine::CopiesDone{lane.lane, Ticket(lane.batches.front().last)};
      lane.batches.pop_front();
    }
    activity_ += static_cast<std::int64_t>(count);
    return count;
  }
  [[nodiscard]] std::int64_t activity() const { return activity_; }

 private:
  struct Batch {
    std::int64_t last;
    Seconds end;
  };
  struct LaneState {
    Lane lane;
    std::int64_t open = 0;
    std::int64_t posted = 0;
    std::deque<Batch> batches;
  };
  LaneState& state_of(Lane lane) {
    return lanes_.at(static_cast<std::size_t>(lane.copy_class) * kLanes + lane.index);
  }

  static constexpr std::size_t kLanes = 4;
  std::array<LaneState, kLanes * engine::kCopyClassCount> lanes_;
  std::array<Seconds, engine::kCopyClassCount> free_at_{};
  std::int64_t activity_ = 0;
};

struct Side {
  explicit Side(HwFabric& fabric)
      : port(fabric.port(fabric.rank())),
        proxy(port, {}),
        communicator(port, 0, {.chunk_size = kChunkSize}),
        buffer{fabric.allocate(kChunkSize * kChunks), Bytes(0), kChunkSize * kChunks} {}

  void step() {
    const std::int64_t before = port.activity();
    const Seconds begin = monotonic_now();
    proxy.step();
    const Seconds took = monotonic_now() - begin;
    if (port.activity() == before) {
      idle += took;
      idle_steps += 1;
    } else {
      working += took;
      steps += 1;
    }
  }

  TimedCopies port;
  engine::Proxy proxy;
  engine::Communicator communicator;
  Region buffer;
  Seconds working{0.0};
  Seconds idle{0.0};
  std::int64_t steps = 0;
  std::int64_t idle_steps = 0;
};

std::vector<std::unique_ptr<HwFabric>> make_fabrics(const engine::Topology& topology) {
  const std::vector<Launch> launches = make_local_launches(topology.rank_count());
  HwOptions options;
  options.link = LinkKind::kLoopbackMap;
  options.slot_size = kChunkSize;
  std::vector<std::unique_ptr<HwFabric>> fabrics(launches.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    threads.emplace_back([&, i] {
      fabrics[i] =
          std::make_unique<HwFabric>(Bootstrap::connect(launches[i], {}), topology, options);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return fabrics;
}

void report(benchmark::State& state, const std::vector<std::unique_ptr<Side>>& sides) {
  const double chunks = static_cast<double>(kChunks) * static_cast<double>(state.iterations());
  const std::array<const char*, kRanks> names = {"source", "target"};
  for (std::size_t i = 0; i < kRanks; ++i) {
    const Side& side = *sides[i];
    const std::string name = names.at(i);
    const auto per_step = [](Seconds time, std::int64_t steps) {
      return 1e9 * time.count() / static_cast<double>(steps);
    };
    state.counters[name + "_us_per_chunk"] = 1e6 * side.working.count() / chunks;
    state.counters[name + "_steps_per_chunk"] = static_cast<double>(side.steps) / chunks;
    state.counters[name + "_ns_per_step"] = per_step(side.working, side.steps);
    state.counters[name + "_ns_per_idle_step"] = per_step(side.idle, side.idle_steps);
  }
}

void proxy_time(benchmark::State& state) {
  const auto fabrics = make_fabrics(engine::preset_topology("h200-1x1").with_ranks(kRanks));
  std::vector<std::unique_ptr<Side>> sides;
  for (const auto& fabric : fabrics) sides.push_back(std::make_unique<Side>(*fabric));
  const StreamId stream(0);
  for ([[maybe_unused]] auto _ : state) {
    const auto sent = sides[0]->communicator.send(sides[0]->buffer, Rank(1), stream);
    const auto received = sides[1]->communicator.receive(sides[1]->buffer, Rank(0), stream);
    while (!sent->status() || !received->status()) {
      for (const auto& side : sides) side->step();
    }
  }
  report(state, sides);
}

BENCHMARK(proxy_time)->Iterations(50)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hoccl::hw

BENCHMARK_MAIN();
