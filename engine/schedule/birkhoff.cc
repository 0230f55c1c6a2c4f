#include "engine/schedule/birkhoff.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

using PortIndex = std::int32_t;

/// The matrix with what is added so that every row and column sums to busiest_port().
PortMatrix padded(const PortMatrix& matrix) {
  const std::int64_t total = busiest_port(matrix);
  PortMatrix result = matrix;
  std::vector<std::int64_t> receive_slack(static_cast<std::size_t>(matrix.cols()));
  for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
    receive_slack[static_cast<std::size_t>(j)] = total - matrix.col(j).sum();
  }
  Eigen::Index j = 0;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    std::int64_t send_slack = total - matrix.row(i).sum();
    while (send_slack > 0) {
      std::int64_t& room = receive_slack[static_cast<std::size_t>(j)];
      const std::int64_t added = std::min(send_slack, room);
      result(i, j) += added;
      send_slack -= added;
      room -= added;
      if (room == 0) ++j;
    }
  }
  return result;
}

/// Perfect matching of the positive entries by augmenting paths (Kuhn).
class PerfectMatching {
 public:
  explicit PerfectMatching(const PortMatrix& entries)
      : entries_(entries),
        ports_(static_cast<PortIndex>(entries.rows())),
        source_of_(static_cast<std::size_t>(ports_), -1),
        seen_(static_cast<std::size_t>(ports_), false) {}

  /// By sending port.
  std::vector<PortIndex> find() {
    for (PortIndex i = 0; i < ports_; ++i) {
      seen_.assign(seen_.size(), false);
      HOCCL_CHECK(augment(i), "equal sums without a perfect matching at port {}", i);
    }
    std::vector<PortIndex> targets(static_cast<std::size_t>(ports_));
    for (PortIndex j = 0; j < ports_; ++j) {
      targets[static_cast<std::size_t>(source_of_[static_cast<std::size_t>(j)])] = j;
    }
    return targets;
  }

 private:
  bool augment(PortIndex source) {
    for (PortIndex j = 0; j < ports_; ++j) {
      const auto target = static_cast<std::size_t>(j);
      if (entries_(source, j) == 0 || seen_[target]) continue;
      seen_[target] = true;
      if (source_of_[target] < 0 || augment(source_of_[target])) {
        source_of_[target] = source;
        return true;
      }
    }
    return false;
  }

  const PortMatrix& entries_;
  PortIndex ports_;
  std::vector<PortIndex> source_of_;
  std::vector<bool> seen_;
};

}  // namespace

Decomposition birkhoff_stages(const PortMatrix& matrix) {
  Decomposition result{.ports = static_cast<int>(matrix.rows()), .lengths = {}, .targets = {}};
  PortMatrix entries = padded(matrix);
  PortMatrix real = matrix;
  std::int64_t left = busiest_port(matrix);
  while (left > 0) {
    const std::vector<PortIndex> targets = PerfectMatching(entries).find();
    std::int64_t length = left;
    for (PortIndex i = 0; i < result.ports; ++i) {
      length = std::min(length, entries(i, targets[static_cast<std::size_t>(i)]));
    }
    for (PortIndex i = 0; i < result.ports; ++i) {
      const PortIndex target = targets[static_cast<std::size_t>(i)];
      entries(i, target) -= length;
      // Padding comes last within an entry, so a pair is named while it has something to send.
      std::int64_t& unsent = real(i, target);
      result.targets.push_back(unsent > 0 ? target : -1);
      unsent = std::max<std::int64_t>(0, unsent - length);
    }
    result.lengths.push_back(length);
    left -= length;
  }
  return result;
}

}  // namespace hoccl::engine
