#include "hw/run/measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

#include "engine/pattern/metrics.h"
#include "engine/rank_share.h"
#include "engine/trace/leg_times.h"
#include "engine/trace/trace_recorder.h"
#include "hw/run/exchange.h"
#include "hw/run/gather_trace.h"
#include "hw/run/link_bound.h"
#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::RunResult;
using engine::Seconds;

namespace {

constexpr engine::StreamId kStream(0);
constexpr std::uint16_t kCommunicator = 1;
/// What all rounds of one size may take together, unless the number of iterations is given.
constexpr Seconds kTimePerSize(1.0);
/// Between two looks whether operations have ended.
constexpr Seconds kShortestNap(50e-6);
constexpr Seconds kLongestNap(1e-3);
/// Seldom, because it is a call of the driver, which holds up the proxy.
constexpr Seconds kBetweenLooksAtStream(0.2);

Seconds caller_cpu_time() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

Seconds median(std::vector<Seconds> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  if (values.size() % 2 == 1) return values[middle];
  return (values[middle - 1] + values[middle]) / 2;
}

/// Takes next to nothing from the cores that proxies need, unlike a thread that waits for a stream
/// of CUDA, which spins. Throws CudaError.
void sleep_until_ended(const engine::Work& work, Seconds begin, HwFabric& fabric) {
  Seconds looked = begin;
  while (!work.status()) {
    const Seconds now = monotonic_now();
    if (now - looked > kBetweenLooksAtStream) {
      fabric.require_healthy(kStream);
      looked = now;
    }
    const Seconds nap = std::clamp((now - begin) / 8, kShortestNap, kLongestNap);
    std::this_thread::sleep_for(std::chrono::duration<double>(nap.count()));
  }
}

/// Records while it lives, also when it is left by an exception: the fabric's threads go on.
class Recording {
 public:
  Recording(HwFabric& fabric, engine::TraceRecorder& recorder) : fabric_(fabric) {
    fabric_.record_trace(&recorder);
  }
  ~Recording() { fabric_.record_trace(nullptr); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

 private:
  HwFabric& fabric_;
};

}  // namespace

Measurement::Measurement(HwFabric& fabric, const RunScenario& scenario, Bytes largest,
                         StepRecord* steps)
    : fabric_(fabric),
      scenario_(scenario),
      proxy_(fabric, scenario.pipeline, nullptr, steps),
      communicator_(fabric.port(fabric.rank()), kCommunicator, scenario.compile),
      buffers_(fabric, pattern_of(scenario, largest).flows),
      watch_(communicator_) {
  if (scenario.plan) saved_ = std::make_shared<const engine::Plan>(*scenario.plan);
}

Measurement::~Measurement() = default;

RunResult Measurement::measure(Bytes size, std::vector<engine::TraceEvent>* trace) {
  pattern_ = pattern_of(scenario_, size);
  choose_call(size);
  RunResult result;
  result.size = size;
  meet();
  const Seconds warmup_time = run(scenario_.warmup);
  meet();
  measure_rounds(result, choose_iterations(warmup_time));
  result.bound = link_bound(scenario_, size);
  check_link_bound(result);
  if (scenario_.check) check_bytes();
  if (scenario_.legs || trace != nullptr) result.legs = trace_legs(trace);
  result.message = pattern_.message_size;
  result.algbw = engine::algbw(pattern_, result.time);
  result.busbw = engine::busbw(pattern_, result.time);
  return result;
}

void Measurement::finish() { meet(); }

void Measurement::meet(const std::string& failure) {
  const std::string own = failure.empty() ? first_failure() : failure;
  works_.clear();
  // At once: a rank that made this one fail may never come to the barrier.
  if (!own.empty()) throw RunFailed(own);
  fabric_.bootstrap().barrier();
}

std::string Measurement::first_failure() const {
  for (const auto& work : works_) {
    const auto status = work->status();
    if (!status) return fmt::format("rank {}: an operation did not end", fabric_.rank());
    if (!status->ok()) return to_string(*status);
  }
  return {};
}

void Measurement::choose_call(Bytes size) {
  const engine::Traffic& traffic = scenario_.traffic;
  const engine::Topology& topology = scenario_.topology;
  plan_.reset();
  collective_.reset();
  requests_.clear();
  if (saved_ != nullptr || traffic.flows != nullptr) {
    const std::vector<engine::Rank> ranks = engine::ranks_of(pattern_.flows, topology.rank_count());
    if (!std::ranges::binary_search(ranks, fabric_.rank())) return;
    plan_members_ = std::make_shared<const std::vector<engine::Rank>>(ranks);
    plan_ = saved_ != nullptr
                ? saved_
                : std::make_shared<const engine::Plan>(engine::compile_for_node(
                      pattern_, topology, scenario_.compile, topology.node_of(fabric_.rank())));
    return;
  }
  if (engine::is_send_recv(traffic.request.name)) {
    requests_ =
        engine::requests_of(pattern_.flows, fabric_.rank(), buffers_.send(), buffers_.receive());
    return;
  }
  const std::vector<engine::Rank> members = engine::members_of(traffic, topology.rank_count());
  if (!std::ranges::binary_search(members, fabric_.rank())) return;
  collective_ = engine::CollectiveRequest{.pattern = traffic.request,
                                          .send_buffer = buffers_.send(),
                                          .receive_buffer = buffers_.receive()};
  collective_->pattern.size = size;
  const auto matrix = engine::matrix_of(traffic, size, topology.rank_count());
  if (matrix != nullptr) collective_->row = engine::row_of(*matrix, traffic, fabric_.rank());
}

std::shared_ptr<engine::Work> Measurement::call() {
  if (plan_ != nullptr) {
    return communicator_.run(plan_, buffers_.send(), buffers_.receive(), kStream, plan_members_);
  }
  if (collective_) return communicator_.collective(*collective_, kStream);
  return communicator_.enqueue(requests_, kStream);
}

void Measurement::enqueue() {
  if (plan_ == nullptr && !collective_ && requests_.empty()) return;
  const Seconds begin = caller_cpu_time();
  works_.push_back(call());
  launch_time_ += caller_cpu_time() - begin;
  watch_.watch(works_.back());
}

Seconds Measurement::run(int count) {
  const Seconds begin = monotonic_now();
  for (int i = 0; i < count; ++i) enqueue();
  if (works_.empty()) return Seconds(0.0);
  sleep_until_ended(*works_.back(), begin, fabric_);
  fabric_.synchronize(kStream);
  return fabric_.finished_at().value() - begin;
}

int Measurement::choose_iterations(Seconds warmup_time) {
  if (scenario_.iterations) return *scenario_.iterations;
  if (scenario_.warmup == 0) return kMaxIterations;
  Seconds longest{0.0};
  for (const auto& time : hw::exchange(fabric_.bootstrap(), std::vector{warmup_time})) {
    longest = std::max(longest, time.front());
  }
  const double fitting = kTimePerSize / (longest / scenario_.warmup) / scenario_.rounds;
  return static_cast<int>(std::clamp(std::floor(fitting), 1.0, double{kMaxIterations}));
}

auto Measurement::counters() const -> Counters {
  const std::optional<engine::DriverUse> driver = proxy_.driver_use();
  return {launch_time_, proxy_.submit_time(), proxy_.cpu_time(), driver.has_value(),
          driver.value_or(engine::DriverUse())};
}

auto Measurement::used(const Counters& before, int operations) const -> Counters {
  const Counters after = counters();
  const bool is_source = std::ranges::any_of(
      pattern_.flows, [&](const engine::Flow& flow) { return flow.source == fabric_.rank(); });
  return {(after.launch - before.launch) / operations,
          is_source ? (after.submit - before.submit) / operations : Seconds(0.0),
          (after.proxy - before.proxy) / operations,
          after.has_driver,
          {(after.driver.time - before.driver.time) / operations,
           (after.driver.copies - before.driver.copies) / operations,
           (after.driver.on_sms - before.driver.on_sms) / operations}};
}

void Measurement::measure_rounds(RunResult& result, int iterations) {
  const Counters before = counters();
  std::vector<Seconds> rounds;
  for (int i = 0; i < scenario_.rounds; ++i) {
    rounds.push_back(run(iterations) / iterations);
    meet();
  }
  const Counters own = used(before, scenario_.rounds * iterations);
  for (const auto& rank : hw::exchange(fabric_.bootstrap(), std::vector{own})) {
    const Counters& counters = rank.front();
    result.launch = std::max(result.launch, counters.launch);
    result.submit = std::max(result.submit, counters.submit);
    if (counters.has_driver && counters.proxy >= result.proxy) result.driver = counters.driver;
    // How many the driver's kernel holds is not known: at least one.
    if (counters.driver.on_sms > 0) result.sms = 1;
    result.proxy = std::max(result.proxy, counters.proxy);
  }
  // A round is over when its last rank is.
  for (const auto& rank : hw::exchange(fabric_.bootstrap(), rounds)) {
    for (std::size_t i = 0; i < rounds.size(); ++i) rounds[i] = std::max(rounds[i], rank[i]);
  }
  result.time = median(rounds);
  result.rounds = engine::Rounds{.count = scenario_.rounds,
                                 .iterations = iterations,
                                 .fastest = std::ranges::min(rounds),
                                 .slowest = std::ranges::max(rounds)};
}

void Measurement::check_bytes() {
  const std::uint64_t operation = ++checked_operations_;
  buffers_.prepare(pattern_.flows, scenario_.seed, operation);
  meet();
  run(1);
  const std::string failure = first_failure();
  meet(failure.empty() ? buffers_.wrong(pattern_.flows, scenario_.seed, operation) : failure);
}

ZeroSmVerdict Measurement::prove() {
  fabric_.start_recording();
  meet();
  run(1);
  // Legs of others that this rank relays end before its own or theirs.
  meet();
  ZeroSmVerdict verdict;
  for (const auto& rank :
       hw::exchange(fabric_.bootstrap(), std::vector{fabric_.stop_recording()})) {
    verdict = merge(verdict, rank.front());
  }
  return verdict;
}

engine::LegTimes Measurement::trace_legs(std::vector<engine::TraceEvent>* trace) {
  // What is needed to time copies is made when the first ones are recorded, and would be seen.
  engine::TraceRecorder first;
  engine::TraceRecorder recorder;
  for (engine::TraceRecorder* each : {&first, &recorder}) {
    const Recording recording(fabric_, *each);
    meet();
    run(1);
    // Legs of others that this rank relays end before its own or theirs: nobody passes before all.
    meet();
  }
  const std::vector<engine::TraceEvent> events =
      gather_trace(fabric_.bootstrap(), recorder.events());
  if (trace != nullptr) *trace = events;
  return engine::leg_times(events);
}

}  // namespace hoccl::hw
