#include "engine/schedule/decomposition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/birkhoff.h"
#include "engine/schedule/critical_matching.h"
#include "engine/schedule/rotation.h"

namespace hoccl::engine {
namespace {

/// Equal counts: where rotation reaches the bound as well, all ports go round in the same
/// direction, and one that is late does not meet others. Without barriers an AllToAll of 256 GPUs
/// takes two thirds of the time that other stages of the same total take (simulated).
Decomposition shortest_stages(const PortMatrix& matrix) {
  Decomposition rotation = rotation_stages(matrix);
  if (total_length(rotation) == busiest_port(matrix)) return rotation;
  return critical_stages(matrix);
}

Decomposition decompose_exactly(const PortMatrix& matrix, Order order) {
  switch (order) {
    case Order::kCritical:
      return shortest_stages(matrix);
    case Order::kBvn:
      return birkhoff_stages(matrix);
    case Order::kRotation:
      return rotation_stages(matrix);
    case Order::kLocal:
      return {.ports = static_cast<int>(matrix.rows()), .lengths = {}, .targets = {}};
  }
  HOCCL_CHECK(false, "order {}", static_cast<int>(order));
}

/// Step of the entries: rounding up adds less than a step per entry, so less than n steps per port.
std::int64_t quantum(const PortMatrix& matrix, double quantise) {
  const auto total = static_cast<double>(busiest_port(matrix));
  const double step = quantise * total / static_cast<double>(matrix.rows());
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(step)));
}

/// Takes out of the stages what rounding added: pairs that are done, and length that no pair needs.
Decomposition cut_back(const PortMatrix& matrix, const Decomposition& rounded) {
  PortMatrix left = matrix;
  Decomposition exact{.ports = rounded.ports, .lengths = {}, .targets = {}};
  std::vector<std::int32_t> kept(static_cast<std::size_t>(rounded.ports));
  for (std::size_t stage = 0; stage < rounded.stage_count(); ++stage) {
    const auto targets = rounded.targets_in(stage);
    std::int64_t length = 0;
    for (std::size_t source = 0; source < targets.size(); ++source) {
      kept[source] = -1;
      if (targets[source] < 0) continue;
      std::int64_t& entry = left(static_cast<Eigen::Index>(source), targets[source]);
      const std::int64_t amount = std::min(entry, rounded.lengths[stage]);
      if (amount == 0) continue;
      entry -= amount;
      length = std::max(length, amount);
      kept[source] = targets[source];
    }
    if (length == 0) continue;
    exact.lengths.push_back(length);
    exact.targets.insert(exact.targets.end(), kept.begin(), kept.end());
  }
  return exact;
}

}  // namespace

std::int64_t total_length(const Decomposition& decomposition) {
  return std::accumulate(decomposition.lengths.begin(), decomposition.lengths.end(),
                         std::int64_t{0});
}

std::int64_t busiest_port(const PortMatrix& matrix) {
  if (matrix.rows() == 0) return 0;
  return std::max(matrix.rowwise().sum().maxCoeff(), matrix.colwise().sum().maxCoeff());
}

Decomposition decompose(const PortMatrix& matrix, Order order, double quantise) {
  const std::int64_t step =
      quantise > 0.0 && order != Order::kLocal && matrix.rows() > 0 ? quantum(matrix, quantise) : 1;
  Decomposition result;
  if (step == 1) {
    result = decompose_exactly(matrix, order);
  } else {
    const PortMatrix steps =
        matrix.unaryExpr([step](std::int64_t entry) { return (entry + step - 1) / step; });
    result = decompose_exactly(steps, order);
    for (std::int64_t& length : result.lengths) length *= step;
    result = cut_back(matrix, result);
  }
  if (result.stage_count() > static_cast<std::size_t>(kMaxStage) + 1) {
    throw ConfigError(
        fmt::format("pattern needs {} stages: expected at most {}; coarser entries "
                    "(quantise above 0) make fewer",
                    result.stage_count(), kMaxStage + 1));
  }
  return result;
}

}  // namespace hoccl::engine
