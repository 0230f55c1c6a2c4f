#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// Work from port (row) to port (column), in any unit of time at which each port sends one unit and
/// receives one unit. A port is a node, or a NIC. The diagonal is 0.
using PortMatrix = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Contention-free stages: in each of them a port sends to at most one other and receives from at
/// most one.
struct Decomposition {
  int ports = 0;
  std::vector<std::int64_t> lengths;  ///< by stage, in the matrix's unit
  /// By stage, then by sending port: the port that it sends to, or -1.
  std::vector<std::int32_t> targets;

  [[nodiscard]] std::size_t stage_count() const { return lengths.size(); }
  [[nodiscard]] std::span<const std::int32_t> targets_in(std::size_t stage) const {
    const auto width = static_cast<std::size_t>(ports);
    return std::span(targets).subspan(stage * width, width);
  }
};

/// Sum of the stage lengths.
std::int64_t total_length(const Decomposition& decomposition);

/// The largest row or column sum: no schedule is shorter.
std::int64_t busiest_port(const PortMatrix& matrix);

/// Splits the matrix into stages; a pair sends in a stage what is left of its entry, at most the
/// length of the stage. No stages for kLocal. The total length is the least possible,
/// busiest_port(), for kCritical and kBvn. With `quantise` above 0 entries are first rounded up to
/// a step that lengthens no port by more than this part of busiest_port(): fewer stages, and a
/// total within 1 + quantise of the exact one. Throws ConfigError when more than kMaxStage + 1
/// stages are needed.
Decomposition decompose(const PortMatrix& matrix, Order order, double quantise);

}  // namespace hoccl::engine
