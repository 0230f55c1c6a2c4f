#include "engine/pipeline/copy_candidates.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

/// How far a flow may get ahead of its share, in chunks or as a part of the flow, whichever is
/// more: a busy GPU must not wait for a sink that is busy, too, while others have room.
constexpr double kChunksAhead = 2.0;
constexpr double kPartAhead = 1.0 / 12.0;

/// Chunks that were passed on to us go before our own: they come late, ours can wait.
int rank_of(const SourceFlow& flow) {
  if (flow.transfer->route == Route::kStaged) return flow.depends() ? 0 : 1;
  return flow.depends() ? 2 : 3;
}

}  // namespace

bool CopyCandidates::Candidate::operator<(const Candidate& other) const {
  return std::tie(rank, stage, turn, id, operation) <
         std::tie(other.rank, other.stage, other.turn, other.id, other.operation);
}

void CopyCandidates::insert(SourceFlow& flow, double turn) {
  waiting_[flow.operation->operation.id.communicator].insert(
      {rank_of(flow), flow.stage_of(flow.first_waiting_chunk()), turn, flow.id,
       flow.operation->number, &flow});
}

SourceFlow* CopyCandidates::take(const Load& load, const May& may) {
  std::vector<std::pair<std::int64_t, std::uint16_t>> turns;
  for (const auto& [communicator, candidates] : waiting_) {
    turns.emplace_back(share_.served(communicator), communicator);
  }
  std::ranges::sort(turns);
  for (const auto& [served, communicator] : turns) {
    std::set<Candidate>& candidates = waiting_.at(communicator);
    const auto best = choose(candidates, load);
    SourceFlow& flow = *best->flow;
    if (!may(flow)) continue;
    candidates.erase(best);
    share_.charge(communicator, flow.chunk_size(flow.first_waiting_chunk()).count());
    if (candidates.empty()) waiting_.erase(communicator);
    return &flow;
  }
  return nullptr;
}

std::set<CopyCandidates::Candidate>::iterator CopyCandidates::choose(
    const std::set<Candidate>& candidates, const Load& load) {
  const auto first = candidates.begin();
  auto best = first;
  int least = load(*first->flow);
  for (auto other = std::next(first); other != candidates.end(); ++other) {
    if (other->rank != first->rank || other->stage != first->stage) break;
    const double most =
        std::max(kPartAhead, kChunksAhead / static_cast<double>(other->flow->chunks));
    if (other->turn - first->turn > most) break;
    const int its = load(*other->flow);
    if (its >= least) continue;
    best = other;
    least = its;
  }
  return best;
}

bool CopyCandidates::leaves_again() const {
  return std::ranges::any_of(waiting_,
                             [](const auto& entry) { return entry.second.begin()->rank == 0; });
}

void CopyCandidates::drop(const OperationState& state) {
  const auto found = waiting_.find(state.operation.id.communicator);
  if (found == waiting_.end()) return;
  std::erase_if(found->second,
                [&](const Candidate& candidate) { return candidate.flow->operation == &state; });
  if (found->second.empty()) waiting_.erase(found);
}

std::size_t CopyCandidates::size() const {
  std::size_t size = 0;
  for (const auto& [communicator, candidates] : waiting_) size += candidates.size();
  return size;
}

}  // namespace hoccl::engine
