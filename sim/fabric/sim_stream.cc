#include "sim/fabric/sim_stream.h"

#include "sim/fabric/sim_port.h"

namespace hoccl::sim {

void SimGate::reached(std::uint64_t sequence) {
  port_.deliver(world_.clock.now(), engine::GateReached{.gate = gate_, .sequence = sequence});
}

SimStream::SimStream(World& world, SimPort& port, engine::StreamId id)
    : world_(world), port_(port), id_(id), stream_(world.clock) {}

void SimStream::ready(SimGate& gate, engine::Sequence sequence) {
  stream_.enqueue_signal(Callback::to<&SimStream::begun>(*this));
  stream_.enqueue_signal(
      Callback::to<&SimStream::ended>(*this, static_cast<std::uint64_t>(Item::kReady)));
  stream_.enqueue_signal(Callback::to<&SimGate::reached>(gate, sequence),
                         world_.calibration.gate.ready_latency);
}

void SimStream::wait(SimGate& gate, engine::Sequence sequence) {
  stream_.enqueue_signal(Callback::to<&SimStream::begun>(*this));
  stream_.enqueue_wait(gate.word(), sequence, world_.calibration.gate.resume_latency);
  stream_.enqueue_signal(
      Callback::to<&SimStream::ended>(*this, static_cast<std::uint64_t>(Item::kWait)));
}

void SimStream::kernel(engine::Seconds duration) {
  stream_.enqueue_signal(Callback::to<&SimStream::begun>(*this));
  stream_.enqueue_kernel(duration);
  stream_.enqueue_signal(
      Callback::to<&SimStream::ended>(*this, static_cast<std::uint64_t>(Item::kKernel)));
}

void SimStream::foreground(bool active) {
  stream_.enqueue_signal(
      Callback::to<&SimStream::passed_foreground>(*this, static_cast<std::uint64_t>(active)),
      world_.calibration.gate.ready_latency);
}

void SimStream::begun() { begin_ = world_.clock.now(); }

void SimStream::ended(std::uint64_t item) {
  idle_since_ = world_.clock.now();
  if (world_.trace == nullptr) return;
  std::string_view name = "kernel";
  if (static_cast<Item>(item) == Item::kReady) name = "gate_ready";
  if (static_cast<Item>(item) == Item::kWait) name = "gate_wait";
  world_.trace->record(
      {.begin = begin_,
       .end = idle_since_,
       .track = {.rank = port_.rank(), .kind = engine::TrackKind::kStream, .index = id_.value()},
       .name = name,
       .flow = {},
       .chunk = -1,
       .size = {},
       .operation = {}});
}

void SimStream::passed_foreground(std::uint64_t active) {
  const int device = world_.device_of(port_.rank());
  int& count = world_.foreground_counts[static_cast<std::size_t>(device)];
  const bool before = count > 0;
  count += active != 0 ? 1 : -1;
  if (before == (count > 0)) return;
  for (SimPort* each : world_.ports) {
    if (world_.device_of(each->rank()) != device) continue;
    each->deliver(world_.clock.now(), engine::ForegroundChanged{.active = count > 0});
  }
}

}  // namespace hoccl::sim
