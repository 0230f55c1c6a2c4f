#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/pattern.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// Plans compiled lately for one topology, so that a repeated operation is not planned again. The
/// least recently used plan leaves first; which one that is depends on the requests alone.
class PlanCache {
 public:
  /// The topology must outlive the cache. `capacity` of at least 1 plan.
  PlanCache(const Topology& topology, std::size_t capacity);

  /// The plan of this pattern, compiled now if it is not here. Throws what make_pattern and compile
  /// throw; then nothing is kept. A plan handed out stays valid after it left the cache.
  std::shared_ptr<const Plan> get(const PatternRequest& request, const CompileOptions& options);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::int64_t hits() const { return hits_; }
  [[nodiscard]] std::int64_t misses() const { return misses_; }

 private:
  struct Key {
    PatternRequest request;
    CompileOptions options;

    auto operator<=>(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const Plan> plan;
  };

  const Topology& topology_;
  std::size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
  std::map<Key, std::list<Entry>::iterator> index_;
  std::int64_t hits_ = 0;
  std::int64_t misses_ = 0;
};

}  // namespace hoccl::engine
