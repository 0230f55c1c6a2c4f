#include "engine/schedule/rotation.h"

#include <algorithm>

namespace hoccl::engine {

Decomposition rotation_stages(const PortMatrix& matrix) {
  Decomposition result{.ports = static_cast<int>(matrix.rows()), .lengths = {}, .targets = {}};
  std::vector<std::int32_t> targets(static_cast<std::size_t>(result.ports));
  for (std::int32_t step = 1; step < result.ports; ++step) {
    std::int64_t length = 0;
    for (std::int32_t i = 0; i < result.ports; ++i) {
      const std::int32_t target = (i + step) % result.ports;
      length = std::max(length, matrix(i, target));
      targets[static_cast<std::size_t>(i)] = matrix(i, target) > 0 ? target : -1;
    }
    if (length == 0) continue;
    result.lengths.push_back(length);
    result.targets.insert(result.targets.end(), targets.begin(), targets.end());
  }
  return result;
}

}  // namespace hoccl::engine
