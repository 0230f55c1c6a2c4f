#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/schedule/stage_memo.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Plans compiled lately for one topology, so that a repeated operation is not planned again. The
/// least recently used plan leaves first; which one that is depends on the requests alone.
class PlanCache {
 public:
  /// The topology must outlive the cache. `capacity` of at least 1 plan of a request, and as many
  /// of matrices.
  PlanCache(const Topology& topology, std::size_t capacity);

  /// The plan of this pattern, compiled now if it is not here. Throws what make_pattern and compile
  /// throw; then nothing is kept. A plan handed out stays valid after it left the cache.
  std::shared_ptr<const Plan> get(const PatternRequest& request, const CompileOptions& options);
  /// The same of the part that the ranks of one node need.
  std::shared_ptr<const Plan> get_for_node(const PatternRequest& request,
                                           const CompileOptions& options, NodeId node);
  /// The same of an AllToAllv with this matrix (compile_matrix_for_node), which is found by its
  /// hash and then compared. Where only what goes from node to node has been seen, the stages are
  /// not made again.
  std::shared_ptr<const Plan> get_for_node(const TrafficMatrix& matrix, bool in_place,
                                           const CompileOptions& options, NodeId node);

  [[nodiscard]] std::size_t size() const { return entries_.size() + matrix_entries_.size(); }
  [[nodiscard]] std::int64_t hits() const { return hits_; }
  [[nodiscard]] std::int64_t misses() const { return misses_; }
  /// Misses that reused stages.
  [[nodiscard]] std::int64_t stage_hits() const { return stages_.hits(); }

 private:
  struct Key {
    PatternRequest request;
    CompileOptions options;
    NodeId node;  ///< none: the whole plan

    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const Plan> plan;
  };
  struct MatrixEntry {
    std::uint64_t hash = 0;
    TrafficMatrix matrix;
    bool in_place = false;
    CompileOptions options;
    NodeId node;
    std::shared_ptr<const Plan> plan;
  };
  using MatrixIndex = std::unordered_multimap<std::uint64_t, std::list<MatrixEntry>::iterator>;

  std::shared_ptr<const Plan> get(Key key);
  [[nodiscard]] MatrixIndex::iterator find(std::uint64_t hash, const TrafficMatrix& matrix,
                                           bool in_place, const CompileOptions& options,
                                           NodeId node);
  void drop_oldest_matrix();

  const Topology& topology_;
  std::size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
  std::map<Key, std::list<Entry>::iterator> index_;
  std::list<MatrixEntry> matrix_entries_;  // the same
  MatrixIndex matrix_index_;               // by hash
  StageMemo stages_;
  std::int64_t hits_ = 0;
  std::int64_t misses_ = 0;
};

}  // namespace hoccl::engine
