#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hw/calibrate/sample_series.h"

namespace hoccl::hw {

/// What one way to make gates costs. None: not measured.
struct GateRow {
  std::string mechanism;
  int connections = 0;
  std::optional<Summary> ready_latency;
  std::optional<Summary> resume_latency;
  std::optional<Summary> ready_call;  ///< the caller's CPU time
  std::optional<Summary> wait_call;
  /// How much longer work of the GPU takes: with a gate in it that is opened at once, and with a
  /// gate on another stream that stays closed for 2 ms.
  std::optional<Summary> same_stream_bubble;
  std::optional<Summary> other_stream_bubble;
};

/// One row per mechanism and number of connections that anything was measured of.
std::vector<GateRow> gate_table(const Samples& samples);

}  // namespace hoccl::hw
