#include "hw/trace/leg_trace.h"

#include "engine/trace/track_name.h"

namespace hoccl::hw {

void LegTrace::record_into(engine::TraceSink* sink) {
  const std::scoped_lock lock(mutex_);
  sink_ = sink;
}

bool LegTrace::is_on() {
  const std::scoped_lock lock(mutex_);
  return sink_ != nullptr;
}

void LegTrace::record(const engine::TraceEvent& event) {
  const std::scoped_lock lock(mutex_);
  if (sink_ != nullptr) sink_->record(event);
}

void LegTrace::copied(engine::Lane lane, engine::Leg leg, const engine::ChunkTag& tag,
                      engine::Bytes size, engine::Seconds begin, engine::Seconds end) {
  record({.begin = begin,
          .end = end,
          .track = engine::copy_engine_track(rank_, lane),
          .name = engine::event_name(leg),
          .flow = tag.flow,
          .chunk = tag.chunk,
          .size = size,
          .operation = tag.operation});
}

void LegTrace::written(engine::NicId nic, const engine::ChunkTag& tag, engine::Bytes size,
                       engine::Seconds begin, engine::Seconds end) {
  record({.begin = begin,
          .end = end,
          .track = {rank_, engine::TrackKind::kNicSend, nic.value()},
          .name = "wire",
          .flow = tag.flow,
          .chunk = tag.chunk,
          .size = size,
          .operation = tag.operation});
}

}  // namespace hoccl::hw
