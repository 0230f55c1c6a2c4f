#include "engine/schedule/matrix_demand.h"

#include <algorithm>

#include "engine/pattern/pattern.h"

namespace hoccl::engine {

MatrixDemand::MatrixDemand(const TrafficMatrix& matrix, bool in_place, const Topology& topology,
                           NodeId node)
    : Demand(topology.node_count(), topology.rank_count()),
      matrix_(matrix),
      in_place_(in_place),
      topology_(topology),
      node_(node) {
  for (Eigen::Index rank = 0; rank < matrix_.rows(); ++rank) {
    const std::size_t on = topology_.node_of(Rank(rank)).index();
    if (runs_.empty() || runs_.back().node != on) runs_.push_back({rank, rank, on});
    runs_.back().end = rank + 1;
  }
  aggregate();
  find_offsets();
}

/// Sums of the tiles, and the offsets that need whole columns.
void MatrixDemand::aggregate() {
  const auto ranks = static_cast<std::size_t>(matrix_.rows());
  const auto own = topology_.ranks_of(node_);
  sent_from_own_.resize(own.size() * ranks);
  received_from_own_.resize(own.size() * ranks);
  std::size_t place = 0;
  for (Eigen::Index row = 0; row < matrix_.rows(); ++row) {
    if (place < own.size() && own[place] == Rank(row)) {
      std::ranges::copy(received_,
                        received_from_own_.begin() + static_cast<std::ptrdiff_t>(place * ranks));
      ++place;
    }
    add_row(row);
  }
  // Any entry out of range shows here: a negative one as an enormous unsigned.
  if (static_cast<std::uint64_t>(largest_entry_) >
      static_cast<std::uint64_t>(kMaxMessageSize.count())) {
    hoccl::engine::largest_buffer(matrix_);
  }
  for (const std::int64_t size : received_) {
    largest_buffer_ = std::max(largest_buffer_, Bytes(size));
  }
  if (largest_buffer_ > kMaxMessageSize) hoccl::engine::largest_buffer(matrix_);
  if (in_place_) take_out_diagonal();
}

void MatrixDemand::add_row(Eigen::Index row) {
  const std::int64_t* entries = matrix_.data() + row * matrix_.cols();
  const std::size_t source = topology_.node_of(Rank(row)).index();
  std::int64_t* tiles = bytes_.data() + static_cast<Eigen::Index>(source) * bytes_.cols();
  std::int32_t* counts = flow_counts_.data() + source * static_cast<std::size_t>(node_count());
  std::int64_t sent = 0;
  // As unsigned, so that the largest also tells of negative ones.
  auto largest = static_cast<std::uint64_t>(largest_entry_);
  // Sums of their own per kind, so that the compiler makes vector code of each.
  for (std::size_t target = 0; target < received_.size(); ++target) {
    received_[target] += entries[target];
  }
  for (const Run& run : runs_) {
    std::int64_t sum = 0;
    std::uint64_t count = 0;
    for (Eigen::Index target = run.begin; target < run.end; ++target) {
      const auto entry = static_cast<std::uint64_t>(entries[target]);
      sum += entries[target];
      // 1 unless the entry is 0, without a branch: in sparse matrices it would guess wrong.
      count += (entry | (0 - entry)) >> 63;
      largest = std::max(largest, entry);
    }
    tiles[run.node] += sum;
    counts[run.node] += static_cast<std::int32_t>(count);
    sent += sum;
  }
  largest_entry_ = static_cast<std::int64_t>(largest);
  largest_buffer_ = std::max(largest_buffer_, Bytes(sent));
  sent_[static_cast<std::size_t>(row)] = sent;
}

void MatrixDemand::take_out_diagonal() {
  for (Eigen::Index rank = 0; rank < matrix_.rows(); ++rank) {
    if (matrix_(rank, rank) == 0) continue;
    const NodeId node = topology_.node_of(Rank(rank));
    bytes_(node.value(), node.value()) -= matrix_(rank, rank);
    sent_[static_cast<std::size_t>(rank)] -= matrix_(rank, rank);
    received_[static_cast<std::size_t>(rank)] -= matrix_(rank, rank);
    --flow_counts_[tile(node, node)];
  }
}

void MatrixDemand::find_offsets() {
  const auto ranks = static_cast<std::size_t>(matrix_.rows());
  const auto own = topology_.ranks_of(node_);
  sent_to_own_.resize(own.size() * ranks);
  received_in_own_.resize(own.size() * ranks);
  for (std::size_t place = 0; place < own.size(); ++place) {
    const Eigen::Index self = own[place].value();
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (std::size_t other = 0; other < ranks; ++other) {
      sent_from_own_[place * ranks + other] = sent;
      sent += matrix_(self, static_cast<Eigen::Index>(other));
      received_in_own_[place * ranks + other] = received;
      received += matrix_(static_cast<Eigen::Index>(other), self);
    }
  }
  if (own.empty()) return;
  for (std::size_t other = 0; other < ranks; ++other) {
    const std::int64_t* entries =
        matrix_.data() + static_cast<Eigen::Index>(other) * matrix_.cols();
    std::int64_t sent = 0;
    std::size_t place = 0;
    for (Eigen::Index target = 0; target <= own.back().value(); ++target) {
      if (own[place] == Rank(target)) sent_to_own_[place++ * ranks + other] = sent;
      sent += entries[target];
    }
  }
}

std::span<const PairFlow> MatrixDemand::flows_of(NodeId source, NodeId target) {
  flows_.clear();
  const auto ranks = static_cast<std::size_t>(matrix_.rows());
  const auto senders = topology_.ranks_of(source);
  const auto receivers = topology_.ranks_of(target);
  const bool sends = source == node_;
  for (std::size_t i = 0; i < senders.size(); ++i) {
    for (std::size_t j = 0; j < receivers.size(); ++j) {
      const Rank from = senders[i];
      const Rank to = receivers[j];
      if (!moved(from.value(), to.value())) continue;
      const std::size_t place = sends ? i * ranks + to.index() : j * ranks + from.index();
      flows_.push_back(
          {.source = from,
           .target = to,
           .source_offset = Bytes(sends ? sent_from_own_[place] : sent_to_own_[place]),
           .target_offset = Bytes(sends ? received_from_own_[place] : received_in_own_[place]),
           .size = Bytes(matrix_(from.value(), to.value())),
           .flow_class = FlowClass::kForeground});
    }
  }
  return flows_;
}

}  // namespace hoccl::engine
