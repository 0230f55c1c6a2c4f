#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/flow.h"
#include "engine/pattern/matrix_kind.h"

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

/// Names a pattern. What a pattern does not use is ignored.
struct PatternRequest {
  std::string name;
  Rank source{0};  ///< sendrecv
  Rank target{1};  ///< sendrecv
  /// As nccl-tests counts it: allgather, gather: the whole result; alltoall, broadcast, scatter:
  /// the sender's buffer; alltoallv: what a rank sends on average.
  Bytes size;
  Rank root{0};           ///< broadcast, gather, scatter
  bool in_place = false;  ///< a rank's own share lies where it belongs: no flow to itself
  MatrixKind matrix = MatrixKind::kUniform;       ///< alltoallv
  std::uint64_t seed = 1;                         ///< alltoallv
  FlowClass flow_class = FlowClass::kForeground;  ///< of all its flows
  /// Ascending: the ranks that take part, of which every other rank number above is an index.
  /// Empty: all. Flows name ranks of the whole job.
  std::vector<Rank> group = {};

  auto operator<=>(const PatternRequest&) const = default;
};

/// The known patterns, in the order in which they are listed to people.
std::vector<std::string_view> pattern_names();

/// `rank_count` is that of the job. Throws ConfigError for an unknown name (listing the known
/// ones), a rank out of range, a size out of range, too few ranks or a bad group.
Pattern make_pattern(const PatternRequest& request, int rank_count);

}  // namespace hoccl::engine
