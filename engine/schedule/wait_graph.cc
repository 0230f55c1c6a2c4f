#include "engine/schedule/wait_graph.h"

#include <algorithm>
#include <map>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

using Index = std::size_t;

/// Edges run from a transfer to those that wait for it.
class WaitGraph {
 public:
  explicit WaitGraph(const Plan& plan)
      : waiting_(plan.transfers.size()), blockers_(plan.transfers.size()) {
    std::map<Rank, std::vector<Index>> programs;
    std::map<NicId, std::vector<Index>> sending;
    std::map<NicId, std::vector<Index>> receiving;
    for (Index i = 0; i < plan.transfers.size(); ++i) {
      const Transfer& transfer = plan.transfers[i];
      if (transfer.route != Route::kStaged) continue;
      programs[transfer.source].push_back(i);
      sending[transfer.send_nic].push_back(i);
      receiving[transfer.receive_nic].push_back(i);
    }
    for (const auto& [rank, program] : programs) add_chain(program);
    for (auto* nics : {&sending, &receiving}) {
      for (auto& [nic, order] : *nics) {
        std::ranges::stable_sort(order, {}, [&](Index i) { return plan.transfers[i].stage; });
        add_chain(order);
      }
    }
  }

  /// Removes what can run, again and again (Kahn); true for what is left.
  [[nodiscard]] std::vector<bool> stuck() const {
    std::vector<Index> open;
    std::vector<Index> missing(waiting_.size());
    for (Index i = 0; i < waiting_.size(); ++i) {
      missing[i] = blockers_[i].size();
      if (missing[i] == 0) open.push_back(i);
    }
    std::vector<bool> left(waiting_.size(), true);
    while (!open.empty()) {
      const Index done = open.back();
      open.pop_back();
      left[done] = false;
      for (const Index next : waiting_[done]) {
        if (--missing[next] == 0) open.push_back(next);
      }
    }
    return left;
  }

  /// A blocker of a stuck transfer that is stuck too. There always is one.
  [[nodiscard]] Index stuck_blocker(Index i, const std::vector<bool>& left) const {
    for (const Index blocker : blockers_[i]) {
      if (left[blocker]) return blocker;
    }
    HOCCL_CHECK(false, "transfer {} is stuck without a stuck blocker", i);
  }

 private:
  void add_chain(const std::vector<Index>& order) {
    for (Index k = 1; k < order.size(); ++k) {
      waiting_[order[k - 1]].push_back(order[k]);
      blockers_[order[k]].push_back(order[k - 1]);
    }
  }

  std::vector<std::vector<Index>> waiting_;
  std::vector<std::vector<Index>> blockers_;
};

}  // namespace

std::vector<std::size_t> find_wait_cycle(const Plan& plan) {
  const WaitGraph graph(plan);
  const std::vector<bool> left = graph.stuck();
  const auto first = std::ranges::find(left, true);
  if (first == left.end()) return {};
  // Walking from blocker to blocker must come round, because every stuck transfer has one.
  std::vector<Index> walk = {static_cast<Index>(first - left.begin())};
  while (true) {
    const Index next = graph.stuck_blocker(walk.back(), left);
    const auto seen = std::ranges::find(walk, next);
    if (seen != walk.end()) return {seen, walk.end()};
    walk.push_back(next);
  }
}

}  // namespace hoccl::engine
