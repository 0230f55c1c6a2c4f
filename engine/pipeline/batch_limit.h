#pragma once

#include <algorithm>
#include <cstdint>

namespace hoccl::engine {

/// How many copies a batch may hold, when `done` chunks of a flow have been copied and `left` are
/// still to be posted, beside those of `flows` alike. A batch completes as one, so its chunks' next
/// legs wait for its last: few at the beginning, while the engines of the next legs idle, and few
/// at the end, when they have nothing else to do (guided self-scheduling). Two cost little even
/// then, and beyond eight an engine's set-up is spread enough (reference: H200, 2 MiB: 49.4 GB/s
/// both ways with batches of 4, 49.7 with 8, 50.1 at most).
constexpr std::int64_t batch_limit(std::int64_t done, std::int64_t left, std::int64_t flows) {
  constexpr std::int64_t kFewest = 2;
  constexpr std::int64_t kMost = 8;
  return std::clamp(std::min(done, left / 2 + 1) * std::max<std::int64_t>(flows, 1), kFewest,
                    kMost);
}

}  // namespace hoccl::engine
