#include "sim/rivals/registrations.h"

namespace hoccl::sim {
namespace {

// Draws of a share and of a part of a span, in steps that no result can show.
constexpr std::int64_t kSteps = 1'000'000;

double draw(engine::Random& random) {
  return static_cast<double>(random.between(0, kSteps - 1)) / static_cast<double>(kSteps);
}

}  // namespace

engine::Seconds Registrations::next() {
  if (!load_.every_operation) return engine::Seconds(0.0);
  if (draw(random_) >= load_.busy_share) return constants_.latency;
  return constants_.busy_latency + draw(random_) * constants_.busy_spread;
}

}  // namespace hoccl::sim
