#include <utility>

#include "sim/fabric/sim_port.h"

// The application side: calls cost its core's time and take effect when it has come to them.

namespace hoccl::sim {

using engine::Seconds;

SimStream& SimPort::stream(engine::StreamId id) {
  std::unique_ptr<SimStream>& found = streams_[id];
  if (found == nullptr) found = std::make_unique<SimStream>(world_, *this, id);
  return *found;
}

SimGate& SimPort::gate(engine::Gate gate) {
  std::unique_ptr<SimGate>& found = gates_[gate];
  if (found == nullptr) found = std::make_unique<SimGate>(world_, *this, gate);
  return *found;
}

void SimPort::act(const Action& action, Seconds cost) {
  actions_.push_back(action);
  const Seconds done = application_.advance(cost + wait_for_driver(application_, 1));
  world_.clock.at(done, Callback::to<&SimPort::act_next>(*this));
}

void SimPort::act_next() {
  const Action action = actions_.front();
  actions_.pop_front();
  switch (action.kind) {
    case Action::Kind::kReady:
      action.stream->ready(*action.gate, action.sequence);
      return;
    case Action::Kind::kWait:
      action.stream->wait(*action.gate, action.sequence);
      return;
    case Action::Kind::kForeground:
      action.stream->foreground(action.active);
      return;
    case Action::Kind::kKernel:
      action.stream->kernel(action.duration);
      return;
    case Action::Kind::kExternal:
      action.stream->gpu_stream().enqueue_external(action.begin);
      return;
    case Action::Kind::kWork:
      action.begin();
      return;
  }
}

void SimPort::enqueue_ready(engine::Gate gate_name, engine::Sequence sequence) {
  act({.kind = Action::Kind::kReady,
       .stream = &stream(gate_name.stream),
       .gate = &gate(gate_name),
       .sequence = sequence},
      world_.calibration.cpu.enqueue_ready);
}

void SimPort::enqueue_wait(engine::Gate gate_name, engine::Sequence sequence) {
  act({.kind = Action::Kind::kWait,
       .stream = &stream(gate_name.stream),
       .gate = &gate(gate_name),
       .sequence = sequence},
      world_.calibration.cpu.enqueue_wait);
}

void SimPort::enqueue_foreground(engine::StreamId id, bool active) {
  // The same call as a gate's: a write in stream order.
  act({.kind = Action::Kind::kForeground, .stream = &stream(id), .active = active},
      world_.calibration.cpu.enqueue_ready);
}

void SimPort::enqueue_kernel(engine::StreamId id, Seconds duration) {
  act({.kind = Action::Kind::kKernel, .stream = &stream(id), .duration = duration},
      world_.calibration.nccl.kernel_launch);
}

void SimPort::enqueue_external(engine::StreamId id, Callback begin) {
  // Memory operations, or a host function: a call like a gate's.
  enqueue_external(id, begin, world_.calibration.cpu.enqueue_ready);
}

void SimPort::enqueue_external(engine::StreamId id, Callback begin, Seconds cost) {
  act({.kind = Action::Kind::kExternal, .stream = &stream(id), .begin = begin}, cost);
}

void SimPort::work(Seconds cost, Callback done) {
  actions_.push_back({.kind = Action::Kind::kWork, .begin = done});
  world_.clock.at(application_.advance(cost), Callback::to<&SimPort::act_next>(*this));
}

void SimPort::submit(std::shared_ptr<const engine::Command> command) {
  const Seconds sent = application_.advance(world_.calibration.cpu.submit);
  deliver(sent + world_.calibration.message.local_latency,
          engine::Submitted{.command = std::move(command)});
}

std::optional<engine::Status> SimPort::query(engine::WorkId work) const {
  const auto found = finished_.find(work);
  if (found == finished_.end()) return std::nullopt;
  return found->second.status;
}

std::optional<Seconds> SimPort::finish_time(engine::WorkId work) const {
  const auto found = finished_.find(work);
  if (found == finished_.end()) return std::nullopt;
  return found->second.time;
}

}  // namespace hoccl::sim
