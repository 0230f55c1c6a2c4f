#include "hw/calibrate/proxy_bench.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/topology/topology.h"
#include "hw/bootstrap/thread_ranks.h"
#include "hw/calibrate/calibration_failed.h"
#include "hw/calibrate/fits.h"
#include "hw/calibrate/what_is_measured.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/fabric/step_record.h"
#include "hw/run/measurement.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

using Sums = Eigen::Matrix<double, ProxyWork::kKinds, 1>;
using Squares = Eigen::Matrix<double, ProxyWork::kKinds, ProxyWork::kKinds>;

constexpr int kRuns = 7;
constexpr int kIterations = 20;

/// What is run: few ranks and many chunks, more ranks and more messages; one chunk per operation
/// and several.
struct Job {
  const char* pattern;
  int ranks;
  std::array<Bytes, 2> sizes;
};
constexpr Bytes kChunk = 64_KiB;
constexpr std::array kJobs = {Job{"sendrecv", 2, {64_KiB, 2_MiB}},
                              Job{"alltoall", 4, {256_KiB, 2_MiB}}};

RunScenario scenario_of(const Job& job, CopyKind copy, int device) {
  RunScenario scenario{.topology = engine::preset_topology("h200-1x1").with_ranks(job.ranks)};
  scenario.traffic.request.name = job.pattern;
  scenario.traffic.request.in_place = true;
  scenario.compile.chunk_size = kChunk;
  scenario.pipeline.streams = 1;
  scenario.pipeline.quantum = 16;
  scenario.hardware.copy = copy;
  scenario.hardware.link = LinkKind::kLoopbackMap;
  scenario.hardware.slots = 48;
  scenario.hardware.slot_size = kChunk;
  scenario.hardware.devices = {device};
  scenario.iterations = kIterations;
  return scenario;
}

/// All steps of all ranks of one run.
struct Steps {
  Squares square = Squares::Zero();
  Sums time = Sums::Zero();
  Sums work = Sums::Zero();
  std::int64_t idle_count = 0;
  Seconds idle{0.0};
  /// Of the job with the fewest ranks, whose threads hold each other up least.
  DriverCalls driver;

  void add(const StepRecord& record) {
    for (Eigen::Index i = 0; i < time.size(); ++i) {
      const auto kind = static_cast<std::size_t>(i);
      time(i) += record.time_sum.at(kind);
      work(i) += record.work_sum.at(kind);
      for (Eigen::Index j = 0; j < time.size(); ++j) {
        square(i, j) += record.square.at(kind).at(static_cast<std::size_t>(j));
      }
    }
    idle_count += record.idle_steps;
    idle += record.idle;
  }
};

void run_job(const Job& job, CopyKind copy, int device, Steps& steps, Samples& samples) {
  const RunScenario scenario = scenario_of(job, copy, device);
  std::vector<StepRecord> records(static_cast<std::size_t>(job.ranks));
  std::mutex mutex;
  std::string failure;
  run_thread_ranks(job.ranks, [&](const Launch& launch) {
    try {
      HwFabric fabric(Bootstrap::connect(launch, {}), scenario.topology, scenario.hardware);
      Measurement measurement(fabric, scenario, job.sizes.back(),
                              &records[static_cast<std::size_t>(launch.rank.value())]);
      for (const Bytes size : job.sizes) {
        const engine::RunResult result = measurement.measure(size);
        if (launch.rank != engine::Rank(0)) continue;
        samples.add({kLaunchCall, job.pattern, size, job.ranks}, result.launch);
      }
      measurement.finish();
    } catch (const std::exception& error) {
      const std::scoped_lock lock(mutex);
      failure = error.what();
      return 1;
    }
    return 0;
  });
  if (!failure.empty()) throw CalibrationFailed(failure);
  for (const StepRecord& record : records) {
    steps.add(record);
    if (job.ranks == kJobs.front().ranks) steps.driver.merge(record.driver);
  }
}

void add_calls(const DriverCalls& driver, Samples& samples) {
  const auto add = [&](std::string subject, Seconds mean) {
    samples.add({kCallInUse, std::move(subject)}, mean);
  };
  const auto add_mean = [&](std::string subject, const DriverCalls::Calls& calls) {
    if (calls.count > 0) add(std::move(subject), calls.time / static_cast<double>(calls.count));
  };
  for (const engine::CopyClass copy_class : engine::kCopyClasses) {
    const auto index = static_cast<std::size_t>(copy_class);
    const std::string suffix = constant_suffix(copy_class);
    add_mean("post_copy" + suffix, driver.alone.at(index));
    const DriverCalls::Batches& batches = driver.batches.at(index);
    // Of batches of one size nothing tells the batch from its copies.
    if (batches.count * batches.squares - batches.copies * batches.copies <= batches.count)
      continue;
    Eigen::Matrix2d square;
    square << batches.count, batches.copies, batches.copies, batches.squares;
    const std::vector<Seconds> costs =
        fit_work(square, Eigen::Vector2d(batches.time, batches.copies_time));
    add("post_batch" + suffix, costs.front());
    add("post_copy_in_batch" + suffix, costs.back());
  }
  add_mean("post_event", driver.event);
  add_mean("query_copies", driver.pending);
  add_mean("poll_copies", driver.done);
}

}  // namespace

void measure_proxies(CopyKind copy, int device, Samples& samples) {
  for (int run = 0; run < kRuns; ++run) {
    Steps steps;
    for (const Job& job : kJobs) run_job(job, copy, device, steps, samples);
    add_calls(steps.driver, samples);
    Seconds idle{0.0};
    if (steps.idle_count > 0) {
      idle = steps.idle / static_cast<double>(steps.idle_count);
      samples.add({kProxyWork, kIdleStep}, idle);
    }
    // A step that does something looks as one that finds nothing does.
    const std::vector<Seconds> costs =
        fit_work(steps.square, steps.time - idle.count() * steps.work);
    for (std::size_t kind = 0; kind < costs.size(); ++kind) {
      samples.add({kProxyWork, kWorkNames.at(kind)}, costs[kind]);
    }
  }
}

}  // namespace hoccl::hw
