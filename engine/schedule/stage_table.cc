#include "engine/schedule/stage_table.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {
namespace {

/// Brings a list's numbers to at most `most`. Marks that become empty go.
void shrink(StageList& list, std::int64_t most) {
  int shift = 0;
  while ((list.total >> shift) > most) ++shift;
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

StageTable::Entry StageTable::late_at(int source, int target) const {
  Entry entry = at(source, target);
  if (entry.stage_list >= 0) {
    entry.stage_list += list_count_;
  } else if (decomposition_.stage_count() > 0) {
    entry.stage += round_length();
  }
  return entry;
}

std::vector<StageList> StageTable::lists(const std::vector<bool>& wanted) const {
  const auto half = static_cast<std::size_t>(list_count_);
  std::vector<bool> either(half, false);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) either[i % half] = true;
  }
  const std::vector<StageList> rounds = round_lists(either);
  std::vector<StageList> lists;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i]) lists.push_back(repeated(rounds[i % half], i < half ? 0 : 1));
  }
  return lists;
}

/// The part of one round.
std::vector<StageList> StageTable::round_lists(const std::vector<bool>& wanted) const {
  std::vector<StageList> lists(wanted.size());
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
  // Before they are repeated, so that all rounds have equal shares of every list.
  for (StageList& list : lists) shrink(list, kMaxStageListTotal / rounds_);
  return lists;
}

StageList StageTable::repeated(const StageList& round, std::int32_t first_round) const {
  StageList list;
  list.marks.reserve(round.marks.size() * static_cast<std::size_t>(rounds_));
  for (std::int32_t i = 0; i < rounds_; ++i) {
    for (const StageMark& mark : round.marks) {
      list.marks.push_back(
          {mark.stage + (first_round + i) * round_length(), mark.end + i * round.total});
    }
  }
  list.total = rounds_ * round.total;
  return list;
}

}  // namespace hoccl::engine
