#include "engine/schedule/plan.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {

std::vector<Rank> targets_of(const Transfer& transfer) {
  std::vector<Rank> targets = {transfer.target};
  const auto append = [&](const std::vector<Rank>& ranks) {
    targets.insert(targets.end(), ranks.begin(), ranks.end());
  };
  append(transfer.more_targets);
  for (const Branch& branch : transfer.branches) {
    targets.push_back(branch.target);
    append(branch.more_targets);
  }
  return targets;
}

bool delivers_to(const Transfer& transfer, Rank rank) {
  const auto holds = [&](Rank target, const std::vector<Rank>& more) {
    return target == rank || std::ranges::find(more, rank) != more.end();
  };
  return holds(transfer.target, transfer.more_targets) ||
         std::ranges::any_of(transfer.branches, [&](const Branch& branch) {
           return holds(branch.target, branch.more_targets);
         });
}

std::vector<StageSegment> segments_of(const StageList& list, std::int64_t chunks) {
  std::vector<StageSegment> segments;
  std::int64_t begin = 0;
  for (const StageMark& mark : list.marks) {
    // Chunk k belongs here when (k + 1/2) / chunks < end / total, i.e. k < end * chunks / total
    // - 1/2. The product stays below 2^62 (kMaxStageListTotal, kMaxChunksPerTransfer).
    const std::int64_t scaled = 2 * mark.end * chunks - list.total;
    const std::int64_t twice = 2 * list.total;
    const std::int64_t ended = scaled <= 0 ? 0 : (scaled + twice - 1) / twice;
    if (ended > begin) segments.push_back({mark.stage, ended - begin});
    begin = std::max(begin, ended);
  }
  HOCCL_CHECK(begin == chunks, "{} of {} chunks have a stage", begin, chunks);
  return segments;
}

std::vector<StageSegment> segments_of(const Plan& plan, const Transfer& transfer) {
  const std::int64_t chunks = chunks_of(transfer, plan.chunk_size);
  if (transfer.stage_list < 0) return {{transfer.stage, chunks}};
  return segments_of(plan.stage_lists.at(static_cast<std::size_t>(transfer.stage_list)), chunks);
}

std::int32_t stage_at(const Plan& plan, const Branch& branch, std::int64_t chunks,
                      std::int64_t chunk) {
  if (branch.stage_list < 0) return branch.stage;
  const auto list = static_cast<std::size_t>(branch.stage_list);
  std::int64_t end = 0;
  for (const StageSegment& segment : segments_of(plan.stage_lists.at(list), chunks)) {
    end += segment.chunks;
    if (chunk < end) return segment.stage;
  }
  HOCCL_CHECK(false, "chunk {} of {}", chunk, chunks);
}

}  // namespace hoccl::engine
