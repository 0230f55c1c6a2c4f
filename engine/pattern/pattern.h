#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/flow.h"

namespace hoccl::engine {

/// What is to be moved, before any topology is known.
struct Pattern {
  std::string name;  ///< as on the command line: "sendrecv", ...
  int rank_count = 0;
  Bytes message_size;        ///< as nccl-tests counts it for this pattern
  std::string size_meaning;  ///< what message_size counts, for people
  /// busbw = algbw * this (nccl-tests doc/PERFORMANCE.md).
  double busbw_factor = 1.0;
  std::vector<Flow> flows;

  bool operator==(const Pattern&) const = default;
};

/// Largest rank count: an operation id holds a rank in 16 bits and reserves the last value.
inline constexpr int kMaxRanks = 65535;

/// Largest message: 1 PiB. No buffer is larger, and thousands of such sizes add up without
/// overflow.
inline constexpr Bytes kMaxMessageSize = Bytes(std::int64_t{1} << 50);

/// Names a pattern. `source` and `target` matter to one-pair patterns only.
struct PatternRequest {
  std::string_view name;
  Rank source;
  Rank target;
  Bytes size;
};

/// Throws ConfigError for an unknown name (listing the known ones), a rank out of range, a
/// size out of range or too few ranks.
Pattern make_pattern(const PatternRequest& request, int rank_count);

}  // namespace hoccl::engine
