#include "sim/fabric/sim_copy_engine.h"

#include "engine/trace/track_name.h"

namespace hoccl::sim {
namespace {

CopyEngineParameters parameters_of(const CopyEngineConstants& constants) {
  return {.launch_latency = constants.launch_latency,
          .setup = constants.setup,
          .setup_in_batch = constants.setup_in_batch,
          .setup_overlap = constants.setup_overlap,
          .concurrency = static_cast<int>(constants.concurrency),
          .completion_latency = constants.completion_latency};
}

}  // namespace

SimCopyEngine::SimCopyEngine(Clock& clock, Network& network, const CopyEngineConstants& constants,
                             engine::TraceSink* trace)
    : engine_(clock, network, parameters_of(constants)), trace_(trace) {
  if (trace_ != nullptr) engine_.set_observer(this);
}

LaneId SimCopyEngine::add_lane(const engine::Track& track) {
  tracks_.push_back(track);
  return engine_.add_lane();
}

std::uint64_t SimCopyEngine::tag(const engine::CopyRequest& request) {
  const Tagged tagged{.chunk = request.tag, .leg = request.leg};
  if (free_tags_.empty()) {
    tags_.push_back(tagged);
    return tags_.size() - 1;
  }
  const std::uint64_t tag = free_tags_.back();
  free_tags_.pop_back();
  tags_[tag] = tagged;
  return tag;
}

void SimCopyEngine::copied(const CopyInterval& interval) {
  const Tagged& tagged = tags_[interval.tag];
  trace_->record({.begin = interval.begin,
                  .end = interval.end,
                  .track = tracks_[interval.lane.index()],
                  .name = engine::event_name(tagged.leg),
                  .flow = tagged.chunk.flow,
                  .chunk = tagged.chunk.chunk,
                  .size = interval.size,
                  .operation = tagged.chunk.operation});
  free_tags_.push_back(interval.tag);
}

}  // namespace hoccl::sim
