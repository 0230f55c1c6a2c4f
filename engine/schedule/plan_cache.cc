#include "engine/schedule/plan_cache.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "engine/base/check.h"
#include "engine/schedule/compile_matrix.h"
#include "engine/schedule/compile_request.h"

namespace hoccl::engine {
namespace {

/// Hash of all entries. Four sums that do not wait for each other, so that a matrix of 64 ranks
/// takes about a microsecond; odd constants of xxHash64, which spread well when multiplied.
std::uint64_t hash_of(const TrafficMatrix& matrix) {
  constexpr std::uint64_t kFirst = 0x9e3779b185ebca87ULL;
  constexpr std::uint64_t kSecond = 0xc2b2ae3d27d4eb4fULL;
  const auto mixed = [](std::uint64_t sum, std::int64_t entry) {
    return std::rotl(sum + static_cast<std::uint64_t>(entry) * kSecond, 31) * kFirst;
  };
  std::array<std::uint64_t, 4> lanes = {1, 2, 3, 4};
  const std::int64_t* entries = matrix.data();
  const auto count = static_cast<std::size_t>(matrix.size());
  std::size_t i = 0;
  for (; i + lanes.size() <= count; i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane] = mixed(lanes[lane], entries[i + lane]);
    }
  }
  for (; i < count; ++i) lanes[0] = mixed(lanes[0], entries[i]);
  std::uint64_t hash = count;
  for (const std::uint64_t lane : lanes) hash = (hash ^ (lane ^ (lane >> 29))) * kFirst;
  return hash;
}

bool same(const TrafficMatrix& left, const TrafficMatrix& right) {
  return left.rows() == right.rows() && left.cols() == right.cols() &&
         std::equal(left.data(), left.data() + left.size(), right.data());
}

}  // namespace

PlanCache::PlanCache(const Topology& topology, std::size_t capacity)
    : topology_(topology), capacity_(capacity), stages_(capacity) {
  HOCCL_CHECK(capacity_ >= 1, "plan cache of {} plans", capacity_);
}

std::shared_ptr<const Plan> PlanCache::get(const PatternRequest& request,
                                           const CompileOptions& options) {
  return get({.request = request, .options = options, .node = NodeId::none()});
}

std::shared_ptr<const Plan> PlanCache::get_for_node(const PatternRequest& request,
                                                    const CompileOptions& options, NodeId node) {
  return get({.request = request, .options = options, .node = node});
}

std::shared_ptr<const Plan> PlanCache::get(Key key) {
  if (const auto found = index_.find(key); found != index_.end()) {
    ++hits_;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->plan;
  }
  ++misses_;
  auto plan = std::make_shared<const Plan>(
      key.node.is_none()
          ? compile(make_pattern(key.request, topology_.rank_count()), topology_, key.options)
          : compile_request_for_node(key.request, topology_, key.options, key.node, &stages_));
  if (entries_.size() == capacity_) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, plan});
  index_.emplace(std::move(key), entries_.begin());
  return plan;
}

std::shared_ptr<const Plan> PlanCache::get_for_node(const TrafficMatrix& matrix, bool in_place,
                                                    const CompileOptions& options, NodeId node) {
  const std::uint64_t hash = hash_of(matrix);
  const auto found = find(hash, matrix, in_place, options, node);
  if (found != matrix_index_.end()) {
    ++hits_;
    matrix_entries_.splice(matrix_entries_.begin(), matrix_entries_, found->second);
    return found->second->plan;
  }
  ++misses_;
  auto plan = std::make_shared<const Plan>(
      compile_matrix_for_node(matrix, in_place, topology_, options, node, &stages_));
  if (matrix_entries_.size() == capacity_) drop_oldest_matrix();
  matrix_entries_.push_front({hash, matrix, in_place, options, node, plan});
  matrix_index_.emplace(hash, matrix_entries_.begin());
  return plan;
}

PlanCache::MatrixIndex::iterator PlanCache::find(std::uint64_t hash, const TrafficMatrix& matrix,
                                                 bool in_place, const CompileOptions& options,
                                                 NodeId node) {
  auto [found, end] = matrix_index_.equal_range(hash);
  for (; found != end; ++found) {
    const MatrixEntry& entry = *found->second;
    if (entry.in_place == in_place && entry.options == options && entry.node == node &&
        same(entry.matrix, matrix)) {
      return found;
    }
  }
  return matrix_index_.end();
}

void PlanCache::drop_oldest_matrix() {
  const auto oldest = std::prev(matrix_entries_.end());
  auto [found, end] = matrix_index_.equal_range(oldest->hash);
  while (found->second != oldest) ++found;
  matrix_index_.erase(found);
  matrix_entries_.pop_back();
}

}  // namespace hoccl::engine
