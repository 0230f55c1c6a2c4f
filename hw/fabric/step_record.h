#pragma once

#include <array>
#include <cstdint>

#include "engine/base/units.h"
#include "hw/copy/driver_calls.h"
#include "hw/fabric/proxy_work.h"

namespace hoccl::hw {

/// Steps of a proxy, as sums from which its costs per kind of work can be fitted. To be read when
/// the proxy has ended.
class StepRecord {
 public:
  using Work = std::array<double, ProxyWork::kKinds>;

  /// A step that found nothing, of this time without the GPU's driver.
  void add_idle(engine::Seconds own) {
    if (own > kInterrupted) return;
    idle_steps += 1;
    idle += own;
  }
  /// Another one.
  void add(const Work& work, engine::Seconds own) {
    if (own > kInterrupted) return;
    for (std::size_t i = 0; i < work.size(); ++i) {
      work_sum.at(i) += work.at(i);
      time_sum.at(i) += work.at(i) * own.count();
      for (std::size_t j = 0; j < work.size(); ++j) square.at(i).at(j) += work.at(i) * work.at(j);
    }
  }

  std::int64_t idle_steps = 0;
  engine::Seconds idle{0.0};
  Work work_sum{};
  Work time_sum{};                               ///< work times seconds
  std::array<Work, ProxyWork::kKinds> square{};  ///< work times work
  DriverCalls driver;                            ///< of all steps

 private:
  /// No step takes so long unless its thread is stopped meanwhile.
  static constexpr engine::Seconds kInterrupted{200e-6};
};

}  // namespace hoccl::hw
