#include "engine/schedule/stage_table.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

/// Brings a list's numbers below kMaxStageListTotal. Marks that become empty go.
void shrink(StageList& list) {
  int shift = 0;
  while ((list.total >> shift) > kMaxStageListTotal) ++shift;
  if (shift == 0) return;
  std::int64_t before = 0;
  std::vector<StageMark> marks;
  for (StageMark mark : list.marks) {
    mark.end >>= shift;
    if (mark.end > before) marks.push_back(mark);
    before = mark.end;
  }
  list.marks = std::move(marks);
  list.total >>= shift;
}

/// Goes through a list `rounds` times, in stages of their own.
void repeat(StageList& list, std::int32_t rounds, std::int32_t stages) {
  const std::vector<StageMark> once = list.marks;
  const std::int64_t total = list.total;
  for (std::int32_t round = 1; round < rounds; ++round) {
    for (const StageMark& mark : once) {
      list.marks.push_back({mark.stage + round * stages, mark.end + round * total});
    }
    list.total += total;
  }
}

}  // namespace

StageTable::StageTable(const PortMatrix& matrix, const Decomposition& decomposition,
                       std::int32_t rounds)
    : matrix_(matrix), decomposition_(decomposition), rounds_(rounds) {
  const auto pairs = static_cast<std::size_t>(matrix.size());
  entries_.resize(pairs);
  marks_.resize(pairs, 0);
  for (std::size_t stage = decomposition_.stage_count(); stage-- > 0;) {
    const auto targets = decomposition_.targets_in(stage);
    for (int source = 0; source < decomposition_.ports; ++source) {
      const std::int32_t target = targets[static_cast<std::size_t>(source)];
      if (target < 0) continue;
      entries_[index(source, target)].stage = static_cast<std::int32_t>(stage);
      ++marks_[index(source, target)];
    }
  }
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    if (marks_[pair] * rounds_ > 1) entries_[pair] = {.stage = 0, .stage_list = list_count_++};
  }
}

StageTable::Entry StageTable::at(int source, int target) const {
  if (decomposition_.stage_count() == 0) return {};
  const std::size_t pair = index(source, target);
  HOCCL_CHECK(marks_[pair] > 0, "no stage from port {} to {}", source, target);
  return entries_[pair];
}

std::vector<StageList> StageTable::lists(const std::vector<bool>& wanted) const {
  std::vector<StageList> lists(list_count());
  PortMatrix left = matrix_;
  const auto mark = [&](std::size_t stage, int source, int target) {
    const Entry& entry = entries_[index(source, target)];
    if (entry.stage_list < 0) return;
    const auto number = static_cast<std::size_t>(entry.stage_list);
    if (!wanted[number]) return;
    StageList& list = lists[number];
    if (list.marks.empty()) {
      list.marks.reserve(static_cast<std::size_t>(marks_[index(source, target)]));
    }
    std::int64_t& rest = left(source, target);
    const std::int64_t amount = std::min(rest, decomposition_.lengths[stage]);
    rest -= amount;
    list.total += amount;
    list.marks.push_back({static_cast<std::int32_t>(stage), list.total});
  };
  for (std::size_t stage = 0; stage < decomposition_.stage_count(); ++stage) {
    const auto targets = decomposition_.targets_in(stage);
    for (int source = 0; source < decomposition_.ports; ++source) {
      const std::int32_t target = targets[static_cast<std::size_t>(source)];
      if (target >= 0) mark(stage, source, target);
    }
  }
  for (StageList& list : lists) {
    repeat(list, rounds_, static_cast<std::int32_t>(decomposition_.stage_count()));
    shrink(list);
  }
  return lists;
}

}  // namespace hoccl::engine
