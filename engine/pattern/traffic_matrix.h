#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/units.h"
#include "engine/pattern/matrix_kind.h"
#include "engine/pattern/pattern.h"

namespace hoccl::engine {

/// Bytes from rank (row) to rank (column). The diagonal is what a rank keeps.
using TrafficMatrix = Eigen::Matrix<std::int64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline constexpr std::string_view kAllToAllVName = "alltoallv";

/// A matrix of `ranks` rows, drawn from the seed, in which a rank sends `mean` bytes on average,
/// its own share included: exactly, but for kMoe's whole tokens. Same arguments, same matrix,
/// everywhere. Throws ConfigError for ranks outside [1, kMaxPairwiseRanks] or a mean outside
/// [0, kMaxMessageSize].
TrafficMatrix draw_matrix(MatrixKind kind, int ranks, Bytes mean, std::uint64_t seed);

/// Comma-separated whole numbers of bytes, one line per source. Blank lines and lines that begin
/// with # are skipped, spaces and tabs around a number too. Throws ConfigError naming the file
/// (`name`), line and column (both from 1): not N x N, not whole numbers, below 0, above
/// kMaxMessageSize, more than kMaxPairwiseRanks ranks.
TrafficMatrix matrix_from_csv(std::string_view text, const std::string& name);
TrafficMatrix load_matrix(const std::filesystem::path& file);

/// The message size of this AllToAllv as nccl-tests counts it: the most bytes that a rank sends or
/// receives, its own included. Throws ConfigError unless the matrix is square, of 1 to
/// kMaxPairwiseRanks ranks, without entries below 0, and no buffer exceeds kMaxMessageSize.
Bytes largest_buffer(const TrafficMatrix& matrix);

/// The flows of an AllToAllv: blocks lie in a rank's buffers in the order of the peers, as
/// ncclAllToAllv's displacements. In place: the diagonal is not moved, though its bytes keep their
/// room in the buffers. Throws as largest_buffer.
Pattern all_to_all_v(const TrafficMatrix& matrix, bool in_place);

}  // namespace hoccl::engine
