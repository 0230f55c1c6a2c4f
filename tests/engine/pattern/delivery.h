#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "engine/base/ids.h"
#include "engine/pattern/pattern.h"

namespace hoccl::engine {

/// A byte of a buffer: its rank and its offset.
using Place = std::pair<Rank, std::int64_t>;

/// For every byte that the pattern writes, which byte of a send buffer it is. Fails the test when a
/// byte is written twice, a flow is empty or its targets are not ascending ranks of the job. Byte
/// by byte: for small patterns.
std::map<Place, Place> delivered(const Pattern& pattern);

/// The text of the ConfigError that the action throws, or "accepted".
std::string refusal(const std::function<void()>& action);

}  // namespace hoccl::engine
