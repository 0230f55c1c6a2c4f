#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/pattern/request_check.h"
#include "engine/pattern/share.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {
namespace {

using Index = Eigen::Index;
using Sums = Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>;

constexpr std::int64_t kMaxSize = kMaxMessageSize.count();

void require_entries(const TrafficMatrix& matrix) {
  if (matrix.rows() != matrix.cols() || matrix.rows() < 1 || matrix.rows() > kMaxPairwiseRanks) {
    throw ConfigError(fmt::format("pattern {}: matrix of {} x {}: expected N x N of 1 to {} ranks",
                                  kAllToAllVName, matrix.rows(), matrix.cols(), kMaxPairwiseRanks));
  }
  for (Index source = 0; source < matrix.rows(); ++source) {
    for (Index target = 0; target < matrix.cols(); ++target) {
      const std::int64_t size = matrix(source, target);
      if (size >= 0 && size <= kMaxSize) continue;
      throw ConfigError(
          fmt::format("pattern {}: {} bytes from rank {} to {}: expected 0 to {} bytes",
                      kAllToAllVName, size, source, target, kMaxSize));
    }
  }
}

void require_buffer(Index rank, std::string_view does, std::int64_t size) {
  if (size <= kMaxSize) return;
  throw ConfigError(fmt::format("pattern {}: rank {} {} {} bytes: expected at most {}",
                                kAllToAllVName, rank, does, size, kMaxSize));
}

}  // namespace

Bytes largest_buffer(const TrafficMatrix& matrix) {
  require_entries(matrix);
  const Sums sent = matrix.rowwise().sum();
  // Row by row, as the matrix lies in memory.
  Sums received = Sums::Zero(matrix.cols());
  for (Index source = 0; source < matrix.rows(); ++source)
    received += matrix.row(source).transpose();
  for (Index rank = 0; rank < matrix.rows(); ++rank) {
    require_buffer(rank, "sends", sent(rank));
    require_buffer(rank, "receives", received(rank));
  }
  return Bytes(std::max(sent.maxCoeff(), received.maxCoeff()));
}

Pattern all_to_all_v(const TrafficMatrix& matrix, bool in_place) {
  Pattern pattern;
  pattern.name = kAllToAllVName;
  pattern.message_size = largest_buffer(matrix);
  pattern.rank_count = static_cast<int>(matrix.rows());
  pattern.size_meaning = "most bytes that a rank sends or receives, its own block included";
  pattern.busbw_factor = others_share(pattern.rank_count);
  std::vector<Bytes> received(static_cast<std::size_t>(pattern.rank_count));
  for (int source = 0; source < pattern.rank_count; ++source) {
    Bytes sent(0);
    for (int target = 0; target < pattern.rank_count; ++target) {
      const Bytes size(matrix(source, target));
      Bytes& target_offset = received[static_cast<std::size_t>(target)];
      if (size > Bytes(0) && !(in_place && source == target)) {
        pattern.flows.push_back({.source = Rank(source),
                                 .target = Rank(target),
                                 .source_offset = sent,
                                 .target_offset = target_offset,
                                 .size = size});
      }
      sent += size;
      target_offset += size;
    }
  }
  return pattern;
}

}  // namespace hoccl::engine
