#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {

/// What is to be moved, at any size: a known pattern, an AllToAllv with counts of the user's own,
/// or flows of the user's own.
struct Traffic {
  /// Its size is filled in by pattern_of.
  PatternRequest request = {.name = "sendrecv", .size = Bytes(0)};
  /// alltoallv: who sends how much to whom, by position in the request's group. Null: drawn.
  std::shared_ptr<const TrafficMatrix> matrix = {};
  /// Instead of a known pattern.
  std::shared_ptr<const Pattern> flows = {};

  /// Brings its size with it, whatever it is asked for.
  [[nodiscard]] bool has_own_size() const { return matrix != nullptr || flows != nullptr; }
};

/// Whether ranks call it as sends and receives; else as one collective.
bool is_send_recv(std::string_view pattern);

/// The counts of an alltoallv by position in the group, drawn if they are not the user's. Null for
/// every other pattern.
std::shared_ptr<const TrafficMatrix> matrix_of(const Traffic& traffic, Bytes size, int rank_count);

/// Bytes between members of a group as bytes between ranks of the job. An empty group is all of it.
/// Throws ConfigError when the matrix has not one row per member.
TrafficMatrix matrix_of_job(const TrafficMatrix& matrix, const std::vector<Rank>& group,
                            int rank_count);

/// The traffic at one size. Throws ConfigError.
Pattern pattern_of(const Traffic& traffic, Bytes size, int rank_count);

/// What a member of an alltoallv knows: its own row.
std::vector<std::int64_t> row_of(const TrafficMatrix& matrix, const Traffic& traffic, Rank rank);

/// Ranks that take part: those of the group, or all.
std::vector<Rank> members_of(const Traffic& traffic, int rank_count);

}  // namespace hoccl::engine
