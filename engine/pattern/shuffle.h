#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/random.h"

namespace hoccl::engine {

/// Fisher-Yates; std::shuffle gives another order in every standard library.
template <class Value>
void shuffle(std::vector<Value>& values, Random& random) {
  for (std::int64_t last = std::ssize(values) - 1; last > 0; --last) {
    std::swap(values[static_cast<std::size_t>(last)],
              values[static_cast<std::size_t>(random.between(0, last))]);
  }
}

}  // namespace hoccl::engine
