#include "sim/machine/sm_contention.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/config_error.h"

namespace hoccl::sim {
namespace {

std::int64_t waves(std::int64_t tiles, std::int64_t sms) { return (tiles + sms - 1) / sms; }

}  // namespace

ContentionKind parse_contention_kind(std::string_view text) {
  for (const auto kind : {ContentionKind::kNone, ContentionKind::kLine, ContentionKind::kWaves}) {
    if (text == to_string(kind)) return kind;
  }
  throw engine::ConfigError(
      fmt::format("contention = {}: expected 'none', 'line' or 'waves'", text));
}

std::string_view to_string(ContentionKind kind) {
  switch (kind) {
    case ContentionKind::kNone:
      return "none";
    case ContentionKind::kLine:
      return "line";
    case ContentionKind::kWaves:
      return "waves";
  }
  return "";
}

double SmContention::rate(Phase phase, std::int64_t tiles, int held) const {
  HOCCL_CHECK(held >= 0 && sms > 0, "{} of {} SMs held", held, sms);
  if (kind == ContentionKind::kNone || held == 0) return 1.0;
  if (kind == ContentionKind::kWaves && tiles > 0) {
    const std::int64_t left = std::max(sms - held, 1);
    return static_cast<double>(waves(tiles, sms)) / static_cast<double>(waves(tiles, left));
  }
  const double slope = phase == Phase::kForward ? forward_slope : backward_slope;
  return 1.0 / (1.0 + slope * static_cast<double>(held) / static_cast<double>(sms));
}

engine::Seconds SmContention::delay(engine::Bytes traffic) const {
  if (kind == ContentionKind::kNone) return engine::Seconds(0.0);
  return memory_slope * (traffic / memory_rate);
}

}  // namespace hoccl::sim
