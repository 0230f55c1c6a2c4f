#include "hw/fabric/proxy_thread.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>

#include "engine/pipeline/proxy.h"
#include "hw/fabric/hw_port.h"
#include "hw/system/monotonic_clock.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

using engine::Seconds;

namespace {

/// How long an idle proxy looks at its doorbell before it sleeps: about what a sleep and a wake-up
/// cost. With fewer cores than ranks spinning would only take time from those who have work.
constexpr Seconds kSpin(5e-6);
/// While operations are under way: what it waits for then comes from other proxies and soon, and a
/// wake-up would be part of the operation's time.
constexpr Seconds kSpinAtWork(1e-3);
/// Only where that takes nothing from others. On 16 virtual cores operations took 5 to 15% less
/// time so with 2 ranks; with 4, whose callers slept, from 39% less to 12% more (24 cases, median
/// 0); with 8, whose callers spun, up to 18 times as much (one H200, medians of 5 rounds of 8
/// operations).
constexpr unsigned kCoresPerRankToSpinAtWork = 4;
/// How long it sleeps between two looks at a GPU that is at work, where ranks share cores: some
/// copies' time.
constexpr Seconds kNap(20e-6);

}  // namespace

struct ProxyThread::Impl {
  Impl(HwFabric& of, HwPort& own, engine::Port* wrapped, const engine::PipelineOptions& options,
       StepRecord* of_steps)
      : port(own),
        steps(of_steps),
        proxy(wrapped != nullptr ? *wrapped : own, options,
              [rank = of.rank()](const std::string& dump) {
                warn(fmt::format("hoccl: rank {}: {}\n", rank, dump));
              }),
        shares_cores(std::thread::hardware_concurrency() <=
                     static_cast<unsigned>(of.topology().rank_count())),
        spins_at_work(std::thread::hardware_concurrency() >=
                      kCoresPerRankToSpinAtWork *
                          static_cast<unsigned>(of.topology().rank_count())),
        thread([this] { run(); }) {}

  void run() {
    ::pthread_getcpuclockid(::pthread_self(), &clock);
    has_clock.store(true, std::memory_order_release);
    while (true) {
      // First, so that the ring that comes with `stopping` cannot be slept through.
      const std::uint32_t seen = port.doorbell().rings();
      if (stopping.load(std::memory_order_acquire)) break;
      const bool active = step();
      const bool polls = port.must_be_polled();
      // While a GPU is at work and nothing happens, nothing has changed.
      if (active || !polls) quiescent.store(proxy.quiescent(), std::memory_order_release);
      if (!polls) {
        rest(seen);
      } else if (shares_cores) {
        port.doorbell().wait(seen, kNap);
      }
    }
    const DriverCalls* calls = port.copies().driver_calls();
    if (steps != nullptr && calls != nullptr) steps->driver = *calls;
  }

  /// Whether anything was heard or done.
  bool step() {
    const std::int64_t before = port.activity();
    const std::optional<engine::DriverUse> driver_before = port.copies().driver_use();
    const ProxyWork work_before = port.work();
    proxy.step();
    const bool active = port.activity() != before;
    if (!active && steps == nullptr) return false;
    const Seconds took = monotonic_now() - port.now();
    const std::optional<engine::DriverUse> driver = port.copies().driver_use();
    Seconds in_driver{0.0};
    if (driver) in_driver = driver->time - driver_before->time;
    if (steps != nullptr && active) steps->add(port.work().since(work_before), took - in_driver);
    if (steps != nullptr && !active) steps->add_idle(took - in_driver);
    if (!active) return false;
    const std::scoped_lock lock(work_mutex);
    working += took;
    if (driver) {
      driver_use = *driver;
      driver_working += in_driver;
      driver_use->time = driver_working;
    }
    return true;
  }

  [[nodiscard]] Seconds spin() const {
    if (shares_cores) return Seconds(0.0);
    return spins_at_work && !proxy.quiescent() ? kSpinAtWork : kSpin;
  }

  void rest(std::uint32_t seen) {
    Seconds now = monotonic_now();
    const Seconds end = now + spin();
    while (port.doorbell().rings() == seen && now < end) {
      if (port.look_at_link()) return;
      now = monotonic_now();
    }
    if (port.doorbell().rings() != seen || port.arm_link()) return;
    std::optional<Seconds> timeout;
    if (const auto deadline = proxy.next_deadline()) timeout = *deadline - now;
    port.doorbell().wait(seen, timeout);
  }

  HwPort& port;
  StepRecord* const steps;
  engine::Proxy proxy;
  const bool shares_cores;
  const bool spins_at_work;
  std::atomic<bool> stopping{false};
  std::atomic<bool> quiescent{true};
  std::atomic<bool> has_clock{false};
  mutable std::mutex work_mutex;
  Seconds working{0.0};         ///< of steps in which something was done or heard
  Seconds driver_working{0.0};  ///< of them: in the GPU's driver
  std::optional<engine::DriverUse> driver_use;
  clockid_t clock = {};
  std::thread thread;
};

ProxyThread::ProxyThread(HwFabric& fabric, const engine::PipelineOptions& options,
                         engine::Port* port, StepRecord* steps)
    : impl_(std::make_unique<Impl>(fabric, fabric.own_port(), port, options, steps)) {}

ProxyThread::~ProxyThread() {
  impl_->stopping.store(true, std::memory_order_release);
  impl_->port.doorbell().ring();
  impl_->thread.join();
}

bool ProxyThread::quiescent() const { return impl_->quiescent.load(std::memory_order_acquire); }

Seconds ProxyThread::cpu_time() const {
  if (driver_use()) {
    const std::scoped_lock lock(impl_->work_mutex);
    return impl_->working;
  }
  timespec time = {};
  if (impl_->has_clock.load(std::memory_order_acquire)) ::clock_gettime(impl_->clock, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

std::optional<engine::DriverUse> ProxyThread::driver_use() const {
  const std::scoped_lock lock(impl_->work_mutex);
  return impl_->driver_use;
}

Seconds ProxyThread::submit_time() const { return impl_->port.submit_time(); }

}  // namespace hoccl::hw
