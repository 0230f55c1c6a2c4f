#include "experiments/contention/gpu_monitor.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "hw/cuda/cuda_raii.h"

namespace hoccl::contention {
namespace {

// The parts of nvml.h that are used; its binary interface is stable.
using NvmlDevice = void*;
using NvmlReturn = int;  // 0: success
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuTemperature = 0;
constexpr unsigned kPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT, in milliwatts
struct NvmlFieldValue {
  unsigned field_id;
  unsigned scope_id;
  long long timestamp;
  long long latency_us;
  unsigned value_type;  // 1: unsigned int
  NvmlReturn result;
  union {
    unsigned number;
    unsigned long long large;
  } value;
};
static_assert(sizeof(NvmlFieldValue) == 40);

struct Nvml {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*device_by_pci)(const char*, NvmlDevice*) = nullptr;
  NvmlReturn (*clock)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlReturn (*power)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*fields)(NvmlDevice, int, NvmlFieldValue*) = nullptr;
  NvmlReturn (*temperature)(NvmlDevice, int, unsigned*) = nullptr;
  NvmlReturn (*throttle)(NvmlDevice, unsigned long long*) = nullptr;
  const char* (*error)(NvmlReturn) = nullptr;
  NvmlDevice device = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

/// Why NVML cannot be used; empty if it can.
std::string open(Nvml& nvml) {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library == nullptr) return ::dlerror();
  if (!find(library, "nvmlInit_v2", nvml.init) ||
      !find(library, "nvmlDeviceGetHandleByPciBusId_v2", nvml.device_by_pci) ||
      !find(library, "nvmlDeviceGetClockInfo", nvml.clock) ||
      !find(library, "nvmlDeviceGetPowerUsage", nvml.power) ||
      !find(library, "nvmlDeviceGetFieldValues", nvml.fields) ||
      !find(library, "nvmlDeviceGetTemperature", nvml.temperature) ||
      !find(library, "nvmlErrorString", nvml.error)) {
    return "libnvidia-ml.so.1 lacks a function";
  }
  if (!find(library, "nvmlDeviceGetCurrentClocksEventReasons", nvml.throttle) &&
      !find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.throttle)) {
    return "libnvidia-ml.so.1 cannot tell why clocks are low";
  }
  if (const NvmlReturn result = nvml.init(); result != 0) {
    return fmt::format("nvmlInit: {}", nvml.error(result));
  }
  std::array<char, 32> bus{};
  hw::require_cuda(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), 0),
                   "ask for the GPU's bus");
  if (const NvmlReturn result = nvml.device_by_pci(bus.data(), &nvml.device); result != 0) {
    return fmt::format("nvmlDeviceGetHandleByPciBusId({}): {}", bus.data(), nvml.error(result));
  }
  return {};
}

double power_w(const Nvml& nvml) {
  NvmlFieldValue field{};
  field.field_id = kPowerInstant;
  if (nvml.fields(nvml.device, 1, &field) == 0 && field.result == 0) {
    return field.value.number / 1e3;
  }
  unsigned milliwatts = 0;  // averaged over a second on some GPUs
  if (nvml.power(nvml.device, &milliwatts) != 0) return 0;
  return milliwatts / 1e3;
}

void add_sample(const Nvml& nvml, GpuState& sum) {
  unsigned sm_clock = 0;
  unsigned memory_clock = 0;
  unsigned temperature = 0;
  unsigned long long reasons = 0;
  // What cannot be read stays 0 and shows as such.
  nvml.clock(nvml.device, kSmClock, &sm_clock);
  nvml.clock(nvml.device, kMemoryClock, &memory_clock);
  nvml.temperature(nvml.device, kGpuTemperature, &temperature);
  nvml.throttle(nvml.device, &reasons);
  sum.sm_clock_mhz += sm_clock;
  sum.memory_clock_mhz += memory_clock;
  sum.temperature_c += temperature;
  sum.power_w += power_w(nvml);
  sum.throttle_reasons |= reasons;
  ++sum.samples;
}

}  // namespace

struct GpuMonitor::State {
  Nvml nvml;
  std::string problem;
  std::mutex mutex;
  GpuState sum;
  std::atomic<bool> stopping = false;
  std::thread thread;

  void run() {
    while (!stopping) {
      GpuState one;
      add_sample(nvml, one);
      {
        const std::lock_guard lock(mutex);
        sum.sm_clock_mhz += one.sm_clock_mhz;
        sum.memory_clock_mhz += one.memory_clock_mhz;
        sum.temperature_c += one.temperature_c;
        sum.power_w += one.power_w;
        sum.throttle_reasons |= one.throttle_reasons;
        ++sum.samples;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
};

GpuMonitor::GpuMonitor() : state_(std::make_unique<State>()) {
  state_->problem = open(state_->nvml);
  if (state_->problem.empty()) state_->thread = std::thread([this] { state_->run(); });
}

GpuMonitor::~GpuMonitor() {
  state_->stopping = true;
  if (state_->thread.joinable()) state_->thread.join();
}

const std::string& GpuMonitor::problem() const { return state_->problem; }

std::optional<GpuState> GpuMonitor::take() {
  const std::lock_guard lock(state_->mutex);
  GpuState mean = std::exchange(state_->sum, {});
  if (mean.samples == 0) return std::nullopt;
  mean.sm_clock_mhz /= mean.samples;
  mean.memory_clock_mhz /= mean.samples;
  mean.temperature_c /= mean.samples;
  mean.power_w /= mean.samples;
  return mean;
}

std::string throttle_text(std::uint64_t reasons) {
  // nvmlClocksEventReason...
  constexpr std::array<std::pair<std::uint64_t, const char*>, 9> kNames = {{
      {0x1, "idle"},
      {0x2, "application clocks"},
      {0x4, "power cap"},
      {0x8, "hardware slow-down"},
      {0x10, "sync boost"},
      {0x20, "thermal"},
      {0x40, "hardware thermal"},
      {0x80, "power brake"},
      {0x100, "display clocks"},
  }};
  std::vector<std::string> names;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0) names.emplace_back(name);
  }
  if (names.empty()) return "-";
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace hoccl::contention
