#include "sim/machine/driver_lock.h"

#include <algorithm>

namespace hoccl::sim {

using engine::Seconds;

Seconds DriverLock::take(Seconds earliest, Seconds duration) {
  const auto has_ended = [now = clock_.now()](const Turn& turn) { return turn.end <= now; };
  turns_.erase(turns_.begin(), std::ranges::find_if_not(turns_, has_ended));
  Seconds begin = earliest;
  auto next = turns_.begin();
  for (; next != turns_.end() && next->begin < begin + duration; ++next) {
    begin = std::max(begin, next->end);
  }
  turns_.insert(next, {begin, begin + duration});
  return begin;
}

}  // namespace hoccl::sim
