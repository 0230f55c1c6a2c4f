#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace hoccl::contention {

/// The state of the first GPU as its management library (NVML) sees it, averaged over an interval.
struct GpuState {
  double sm_clock_mhz = 0;
  double memory_clock_mhz = 0;
  double power_w = 0;
  double temperature_c = 0;
  std::uint64_t throttle_reasons = 0;  ///< of any sample
  int samples = 0;
};

/// Samples the GPU every 10 ms on a thread of its own. The library is found at run time, because
/// neither its header nor itself need be there.
class GpuMonitor {
 public:
  GpuMonitor();
  ~GpuMonitor();

  /// Empty if it works; else why not.
  [[nodiscard]] const std::string& problem() const;
  /// Of the time since the last call; empty when there was no sample.
  std::optional<GpuState> take();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// "power cap", "thermal, idle"; "-" for none.
std::string throttle_text(std::uint64_t reasons);

}  // namespace hoccl::contention
