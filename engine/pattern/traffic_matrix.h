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

/// A matrix of `ranks` rows, drawn from the seed, in which a rank sends `mean` bytes on average,
/// its own share included. Same arguments, same matrix, everywhere.
TrafficMatrix draw_matrix(MatrixKind kind, int ranks, Bytes mean, std::uint64_t seed);

/// Throws ConfigError naming the file (`name`), line and column: not N x N, not whole numbers,
/// below 0, above kMaxMessageSize. Blank lines and lines that begin with # are skipped.
TrafficMatrix matrix_from_csv(std::string_view text, const std::string& name);
TrafficMatrix load_matrix(const std::filesystem::path& file);

/// The flows of an AllToAllv: blocks lie in a rank's buffers in the order of the peers, as
/// ncclAllToAllv's displacements. In place: the diagonal is not moved. Throws ConfigError.
Pattern all_to_all_v(const TrafficMatrix& matrix, bool in_place);

}  // namespace hoccl::engine
