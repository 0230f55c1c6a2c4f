#include "engine/traffic.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/config_error.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/sendrecv.h"

namespace hoccl::engine {

bool is_send_recv(std::string_view pattern) {
  return pattern == kSendRecvName || pattern == kSendRecvRingName || pattern == kPpChainName;
}

TrafficMatrix matrix_of_job(const TrafficMatrix& matrix, const std::vector<Rank>& group,
                            int rank_count) {
  const auto members = static_cast<Eigen::Index>(group.empty() ? rank_count : group.size());
  if (matrix.rows() != members) {
    throw ConfigError(fmt::format("matrix of {} rows: expected {}, one per rank that takes part",
                                  matrix.rows(), members));
  }
  if (group.empty()) return matrix;
  TrafficMatrix job = TrafficMatrix::Zero(rank_count, rank_count);
  for (Eigen::Index row = 0; row < members; ++row) {
    const Rank source = group[static_cast<std::size_t>(row)];
    for (Eigen::Index column = 0; column < members; ++column) {
      job(source.value(), group[static_cast<std::size_t>(column)].value()) = matrix(row, column);
    }
  }
  return job;
}

std::shared_ptr<const TrafficMatrix> matrix_of(const Traffic& traffic, Bytes size, int rank_count) {
  const PatternRequest& request = traffic.request;
  if (traffic.flows != nullptr || request.name != kAllToAllVName) return nullptr;
  if (traffic.matrix != nullptr) return traffic.matrix;
  const auto members = static_cast<int>(members_of(traffic, rank_count).size());
  return std::make_shared<const TrafficMatrix>(
      draw_matrix(request.matrix, members, size, request.seed));
}

Pattern pattern_of(const Traffic& traffic, Bytes size, int rank_count) {
  if (traffic.flows != nullptr) return *traffic.flows;
  const PatternRequest& request = traffic.request;
  if (traffic.matrix == nullptr) {
    PatternRequest sized = request;
    sized.size = size;
    return make_pattern(sized, rank_count);
  }
  Pattern pattern =
      all_to_all_v(matrix_of_job(*traffic.matrix, request.group, rank_count), request.in_place);
  // Ranks outside the group are no part of nccl-tests' factor.
  const auto members = static_cast<double>(members_of(traffic, rank_count).size());
  pattern.busbw_factor = (members - 1.0) / members;
  return pattern;
}

std::vector<std::int64_t> row_of(const TrafficMatrix& matrix, const Traffic& traffic, Rank rank) {
  const std::vector<Rank>& group = traffic.request.group;
  const auto position = group.empty() ? static_cast<std::ptrdiff_t>(rank.value())
                                      : std::ranges::lower_bound(group, rank) - group.begin();
  const auto row = matrix.row(position);
  return {row.begin(), row.end()};
}

std::vector<Rank> members_of(const Traffic& traffic, int rank_count) {
  if (!traffic.request.group.empty()) return traffic.request.group;
  std::vector<Rank> all;
  for (int rank = 0; rank < rank_count; ++rank) all.emplace_back(rank);
  return all;
}

}  // namespace hoccl::engine
