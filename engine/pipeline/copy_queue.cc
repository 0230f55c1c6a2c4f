#include "engine/pipeline/copy_queue.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::engine {

CopyQueue::CopyQueue(Port& port, const PipelineOptions& options) : port_(port), options_(options) {
  for (Engine& engine : engines_) engine.lanes.resize(static_cast<std::size_t>(options.streams));
}

bool CopyQueue::has_room(CopyClass copy_class) const {
  const Engine& of_class = engines_[static_cast<std::size_t>(copy_class)];
  if (of_class.in_flight >= options_.quantum) return false;
  return !adaptive() ||
         std::ranges::any_of(of_class.lanes, [](const LaneState& lane) { return !lane.is_full(); });
}

void CopyQueue::post(CopyClass copy_class, const CopyJob& job, std::int64_t batch_limit) {
  HOCCL_CHECK(has_room(copy_class), "{} copies are ahead of the engine already",
              engine(copy_class).in_flight);
  Engine& chosen = engine(copy_class);
  const auto lane = std::ranges::min_element(chosen.lanes, {}, [this](const LaneState& each) {
    // A batch of a given size is one lane's: spread over all, it would be several small ones.
    const bool other_batch = !adaptive() && unflushed_ > 0 && each.open == 0;
    return std::pair(other_batch || (adaptive() && each.is_full()), each.in_flight.size());
  });
  const auto index = static_cast<std::uint8_t>(lane - chosen.lanes.begin());
  port_.post_copy({copy_class, index}, job.request);
  lane->in_flight.push_back(job);
  lane->last_posted = Ticket(lane->last_posted.value() + 1);
  lane->open += 1;
  chosen.in_flight += 1;
  unflushed_ += 1;
  const std::int64_t most =
      std::max(std::min<std::int64_t>(batch_limit, options_.quantum / 2), std::int64_t{2});
  if (adaptive() ? lane->open >= most : unflushed_ >= options_.batch) flush();
}

void CopyQueue::flush() {
  if (unflushed_ == 0) return;
  port_.flush();
  unflushed_ = 0;
  for (Engine& engine : engines_) {
    for (LaneState& lane : engine.lanes) {
      if (lane.open > 0) lane.handed_over.push_back(lane.last_posted);
      lane.open = 0;
    }
  }
}

void CopyQueue::complete(const CopiesDone& done, std::vector<Ended>& ended) {
  Engine& of_class = engine(done.lane.copy_class);
  LaneState& lane = of_class.lanes.at(done.lane.index);
  while (lane.last_done < done.ticket) {
    HOCCL_CHECK(!lane.in_flight.empty(), "lane {} completed ticket {} of none posted",
                done.lane.index, done.ticket);
    lane.last_done = Ticket(lane.last_done.value() + 1);
    const bool failed = lane.last_done == done.ticket && done.outcome == Outcome::kError;
    ended.push_back({lane.in_flight.front(), failed ? Outcome::kError : Outcome::kOk, done.lane});
    lane.in_flight.pop_front();
    of_class.in_flight -= 1;
  }
  while (!lane.handed_over.empty() && lane.handed_over.front() <= lane.last_done) {
    lane.handed_over.pop_front();
  }
}

bool CopyQueue::idle() const {
  return std::all_of(engines_.begin(), engines_.end(),
                     [](const Engine& engine) { return engine.in_flight == 0; });
}

}  // namespace hoccl::engine
