#include "engine/schedule/plan_cache.h"

#include <utility>

#include "engine/base/check.h"

namespace hoccl::engine {

PlanCache::PlanCache(const Topology& topology, std::size_t capacity)
    : topology_(topology), capacity_(capacity) {
  HOCCL_CHECK(capacity_ >= 1, "plan cache of {} plans", capacity_);
}

std::shared_ptr<const Plan> PlanCache::get(const PatternRequest& request,
                                           const CompileOptions& options) {
  Key key{.request = request, .options = options};
  if (const auto found = index_.find(key); found != index_.end()) {
    ++hits_;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->plan;
  }
  ++misses_;
  auto plan = std::make_shared<const Plan>(
      compile(make_pattern(request, topology_.rank_count()), topology_, options));
  if (entries_.size() == capacity_) {
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front({key, plan});
  index_.emplace(std::move(key), entries_.begin());
  return plan;
}

}  // namespace hoccl::engine
