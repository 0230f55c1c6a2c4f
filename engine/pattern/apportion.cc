#include "engine/pattern/apportion.h"

#include <algorithm>
#include <numeric>

#include "engine/base/check.h"

namespace hoccl::engine {

std::vector<std::int64_t> apportion(std::span<const std::int64_t> weights, std::int64_t total) {
  constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;
  const std::int64_t sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  HOCCL_CHECK(sum > 0 && sum <= kExactInDouble && total >= 0, "sum {}, total {}", sum, total);
  std::vector<std::int64_t> parts;
  parts.reserve(weights.size());
  std::int64_t passed = 0;
  std::int64_t begin = 0;
  for (const std::int64_t weight : weights) {
    passed += weight;
    // Rounding the ends, not the parts, makes the sum exact. Only a division and a product, each
    // rounded once: no compiler may fuse them, and rounding never reverses their order.
    const double share = static_cast<double>(passed) / static_cast<double>(sum);
    const std::int64_t end =
        passed == sum
            ? total
            : std::min(total, static_cast<std::int64_t>(share * static_cast<double>(total)));
    parts.push_back(end - begin);
    begin = end;
  }
  return parts;
}

}  // namespace hoccl::engine
