#include "sim/run/bound_check.h"

#include "engine/base/check.h"

namespace hoccl::sim {
namespace {

// Rounding of a run's end time, summed over its events, stays well below (see kSameInstant).
constexpr double kSlack = 1e-9;

}  // namespace

void check_bound(std::string_view kind, const engine::Bound& bound, engine::Bytes size,
                 engine::Seconds time) {
  HOCCL_CHECK(time >= bound.time * (1.0 - kSlack),
              "{} bytes in {} us beat the {} bound of {} us set by {}", size.count(),
              engine::microseconds(time), kind, engine::microseconds(bound.time), bound.port);
}

}  // namespace hoccl::sim
