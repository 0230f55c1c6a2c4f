#include "sim/run/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/base/check.h"
#include "engine/pattern/metrics.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/run/bound_check.h"
#include "sim/run/fork_pool.h"
#include "sim/run/system.h"
#include "sim/run/system_kind.h"
#include "sim/run/workload.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::LinkBytes;
using engine::Rank;
using engine::RunResult;
using engine::Seconds;

const engine::StreamId kStream(0);

// Streams stay held this long after all ranks have enqueued, so that commands have reached the
// proxies. Any time well above a mailbox's latency does.
constexpr Seconds kHold(1e-3);

/// Passes on the events of the measured iterations, moved to start at 0.
class MeasuredTrace : public engine::TraceSink {
 public:
  explicit MeasuredTrace(engine::TraceSink* sink) : sink_(sink) {}

  void start(Seconds origin) {
    if (!started_) origin_ = origin;
    started_ = true;
  }
  void record(const engine::TraceEvent& event) override {
    if (!started_ || event.end < origin_) return;
    engine::TraceEvent moved = event;
    moved.begin = std::max(event.begin - origin_, Seconds(0.0));
    moved.end = event.end - origin_;
    sink_->record(moved);
  }

 private:
  engine::TraceSink* sink_;
  bool started_ = false;
  Seconds origin_{0.0};
};

/// Sums of what a run counts, to be subtracted.
struct Counters {
  std::vector<Seconds> launch;  ///< by rank, as the others
  std::vector<Seconds> submit;
  std::vector<Seconds> proxy;
  LinkBytes link_bytes;
};

LinkBytes link_bytes(SimFabric& fabric) {
  const engine::Topology& topology = fabric.topology();
  const LinkMap& links = fabric.links();
  const Network& network = fabric.network();
  LinkBytes bytes;
  for (int device = 0; device < topology.device_count(); ++device) {
    bytes.nvlink += network.carried(links.nvlink_out(device));
    // The port's own link is the first of the route.
    bytes.pcie += network.carried(network.links(links.to_host_route(device)).front());
    bytes.pcie += network.carried(network.links(links.from_host_route(device)).front());
  }
  if (topology.wire() == engine::WireKind::kNic) {
    for (int nic = 0; nic < topology.nic_count(); ++nic) {
      bytes.nic += network.carried(links.nic_send(engine::NicId(nic)));
    }
  }
  return bytes;
}

Counters count(const System& system, SimFabric& fabric) {
  Counters counters;
  for (int number = 0; number < fabric.topology().rank_count(); ++number) {
    const Rank rank(number);
    counters.launch.push_back(system.launch_time(rank));
    counters.submit.push_back(system.submit_time(rank));
    counters.proxy.push_back(system.proxy_time(rank));
  }
  counters.link_bytes = link_bytes(fabric);
  return counters;
}

/// Largest growth of any rank, per iteration.
Seconds largest(const std::vector<Seconds>& before, const std::vector<Seconds>& after,
                int iterations) {
  Seconds result{0.0};
  for (std::size_t i = 0; i < before.size(); ++i) result = std::max(result, after[i] - before[i]);
  return result / iterations;
}

/// Iterations of one workload on one machine.
class Experiment {
 public:
  Experiment(const Scenario& scenario, Bytes size, SimFabric& fabric, System& system)
      : fabric_(fabric), system_(system), workload_(scenario, size, fabric) {}

  /// Returns the time of one iteration. `trace` is told when it begins.
  Seconds iterate(MeasuredTrace* trace) {
    works_.clear();
    ++iteration_;
    passed_ = 0;
    for (const Rank rank : workload_.ranks()) stream(rank).enqueue_wait(hold_, iteration_, {});
    for (const Rank rank : workload_.ranks()) {
      works_.push_back(workload_.enqueue(system_, rank, kStream));
    }
    fabric_.run_until(fabric_.now() + kHold);
    for (const Rank rank : workload_.ranks()) {
      stream(rank).enqueue_signal(Callback::to<&Experiment::passed>(*this));
    }
    const Seconds begin = fabric_.now();
    if (trace != nullptr) trace->start(begin);
    hold_.store(iteration_);
    fabric_.run();
    require_ended();
    HOCCL_CHECK(passed_ == workload_.ranks().size(), "{} of {} streams went on", passed_,
                workload_.ranks().size());
    return end_ - begin;
  }

  /// Returns the time of all of them, until the last one was ended by its proxy, as `hoccl run`
  /// measures it (of kernels: until the last stream is done).
  Seconds iterate_back_to_back(int count, MeasuredTrace* trace) {
    works_.clear();
    const Seconds begin = fabric_.now();
    if (trace != nullptr) trace->start(begin);
    for (int i = 0; i < count; ++i) {
      for (const Rank rank : workload_.ranks()) {
        works_.push_back(workload_.enqueue(system_, rank, kStream));
      }
    }
    fabric_.run();
    require_ended();
    for (const Rank rank : workload_.ranks()) {
      end_ = std::max(end_,
                      fabric_.finished_at(rank).value_or(fabric_.stream_idle_since(rank, kStream)));
    }
    return end_ - begin;
  }

 private:
  GpuStream& stream(Rank rank) { return fabric_.gpu_stream(rank, kStream); }

  void passed() {
    ++passed_;
    end_ = fabric_.now();
  }

  void require_ended() const {
    for (std::size_t i = 0; i < works_.size(); ++i) {
      const auto status = works_[i]->status();
      if (!status) {
        const Rank rank = workload_.ranks()[i % workload_.ranks().size()];
        throw RunError(fmt::format("rank {} did not end", rank));
      }
      if (!status->ok()) throw RunError(to_string(*status));
    }
    HOCCL_CHECK(system_.is_quiescent(), "all operations ended, but iteration {} left work behind",
                iteration_);
  }

  SimFabric& fabric_;
  System& system_;
  Workload workload_;
  MemoryWord hold_;
  std::uint64_t iteration_ = 0;
  std::vector<std::shared_ptr<engine::Work>> works_;
  std::size_t passed_ = 0;
  Seconds end_{0.0};
};

void add_rates(const Scenario& scenario, RunResult& result) {
  const engine::Pattern pattern = pattern_of(scenario, result.size);
  result.message = pattern.message_size;
  result.algbw = engine::algbw(pattern, result.time);
  result.busbw = engine::busbw(pattern, result.time);

  const engine::Bound nominal =
      bound_of(scenario, pattern, engine::nominal_rates(scenario.topology));
  const engine::Bound calibrated =
      bound_of(scenario, pattern, scenario.calibration.rates(scenario.topology));
  check_bound("nominal", nominal, result.size, result.time);
  check_bound("calibrated", calibrated, result.size, result.time);
  result.bound = nominal.time;
  result.calibrated_bound = calibrated.time;
  const bool own_nic = scenario.compile.forwarding == engine::Forwarding::kOwnNic;
  if (scenario.plan || kind_of(scenario.system) != SystemKind::kHoccl || own_nic) return;
  result.balanced_bound = engine::balanced_rail_bound(pattern, scenario.topology,
                                                      scenario.calibration.rates(scenario.topology))
                              .time;
}

}  // namespace

RunResult simulate(const Scenario& scenario, Bytes size, engine::TraceSink* trace) {
  MeasuredTrace measured(trace);
  MeasuredTrace* sink = trace == nullptr ? nullptr : &measured;
  Calibration constants = scenario.calibration;
  if (scenario.prebuilt_writes) constants.cpu.post_write = constants.cpu.post_prebuilt_write;
  SimFabric fabric(
      scenario.topology, constants,
      {.network = scenario.network,
       .slots = scenario.slots,
       .slot_size = scenario.plan ? scenario.plan->chunk_size : scenario.compile.chunk_size,
       .one_process = scenario.one_process,
       .trace = sink});
  const std::unique_ptr<System> system = make_system(scenario, fabric);
  Experiment experiment(scenario, size, fabric, *system);
  for (int i = 0; i < scenario.warmup; ++i) experiment.iterate(nullptr);

  RunResult result;
  result.size = size;
  const Counters before = count(*system, fabric);
  system->reset_peak();
  if (scenario.back_to_back) {
    result.time = experiment.iterate_back_to_back(scenario.iterations, sink);
  } else {
    for (int i = 0; i < scenario.iterations; ++i) result.time += experiment.iterate(sink);
  }
  const Counters after = count(*system, fabric);

  const int iterations = scenario.iterations;
  result.time /= iterations;
  result.launch = largest(before.launch, after.launch, iterations);
  result.submit = largest(before.submit, after.submit, iterations);
  result.proxy = largest(before.proxy, after.proxy, iterations);
  result.sms = system->sm_peak();
  result.link_bytes =
      LinkBytes{.nvlink = (after.link_bytes.nvlink - before.link_bytes.nvlink) / iterations,
                .nic = (after.link_bytes.nic - before.link_bytes.nic) / iterations,
                .pcie = (after.link_bytes.pcie - before.link_bytes.pcie) / iterations};
  add_rates(scenario, result);
  return result;
}

}  // namespace hoccl::sim
