#include "experiments/contention/measurement.h"

#include <chrono>
#include <memory>
#include <numeric>
#include <utility>

#include "engine/base/random.h"

namespace hoccl::contention {
namespace {

using engine::Seconds;
using Clock = std::chrono::steady_clock;

void shuffle(std::vector<std::size_t>& order, engine::Random& random) {
  for (std::size_t last = order.size(); last > 1; --last) {
    const auto other = random.between(0, static_cast<std::int64_t>(last) - 1);
    std::swap(order[last - 1], order[static_cast<std::size_t>(other)]);
  }
}

}  // namespace

Measured measure(const Condition& condition, Gemm& gemm, int groups, const LoadSetup& setup,
                 GpuMonitor* monitor) {
  const std::shared_ptr<Load> load = load_of(condition, setup);
  if (load != nullptr) load->start();
  if (monitor != nullptr) (void)monitor->take();
  const Moved before = load == nullptr ? Moved{} : load->moved();
  const Clock::time_point begin = Clock::now();
  Measured measured;
  measured.burst = gemm.run(groups);
  const Seconds duration = Clock::now() - begin;
  const Moved after = load == nullptr ? Moved{} : load->moved();
  if (monitor != nullptr) measured.gpu = monitor->take();
  if (load != nullptr) load->stop();
  measured.to_host = (after.to_host - before.to_host) / duration;
  measured.to_device = (after.to_device - before.to_device) / duration;
  measured.by_sms = (after.by_sms - before.by_sms) / duration;
  return measured;
}

std::vector<Measured> measure_rounds(const std::vector<Condition>& conditions, Gemm& gemm,
                                     int groups, int rounds, std::uint64_t seed,
                                     const LoadSetup& setup, GpuMonitor* monitor) {
  engine::Random random(seed);
  std::vector<std::size_t> order(conditions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<Measured> all;
  for (int round = 0; round < rounds; ++round) {
    shuffle(order, random);
    for (const std::size_t index : order) {
      Measured measured = measure(conditions[index], gemm, groups, setup, monitor);
      measured.round = round;
      measured.condition = index;
      all.push_back(std::move(measured));
    }
  }
  return all;
}

}  // namespace hoccl::contention
