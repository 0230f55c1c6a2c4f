#include "sim/rivals/nccl_network_pipe.h"

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Bytes;

NcclNetworkPipe::NcclNetworkPipe(const NcclEnvironment& environment, const Ends& ends)
    : NcclPipe(ends.step, environment.constants.fifo_slots),
      environment_(environment),
      ends_(ends),
      route_(environment.wire_route(ends.source_nic, ends.target_nic)),
      queue_pair_(environment.clock, environment.network, environment.queue_pair),
      announced_slots_(environment.constants.fifo_slots) {
  if (environment.trace != nullptr) queue_pair_.set_observer(this);
}

void NcclNetworkPipe::written(const WriteInterval& interval) {
  engine::TraceEvent event{
      .begin = interval.begin,
      .end = interval.end,
      .track = {ends_.source, engine::TrackKind::kNicSend, ends_.source_nic.value()},
      .name = "wire",
      .flow = {},
      .chunk = -1,
      .size = interval.size,
      .operation = {},
  };
  environment_.trace->record(event);
  // At the other end the same bytes pass one latency later, and the overhead is not seen.
  event.begin += environment_.queue_pair.message_overhead + environment_.queue_pair.one_way_latency;
  event.end += environment_.queue_pair.one_way_latency;
  event.track = {ends_.target, engine::TrackKind::kNicReceive, ends_.target_nic.value()};
  environment_.trace->record(event);
}

void NcclNetworkPipe::on_written(Bytes size) {
  written_.push_back(size);
  environment_.clock.after(environment_.constants.flag_latency,
                           Callback::to<&NcclNetworkPipe::step_seen>(*this));
}

void NcclNetworkPipe::step_seen() {
  waiting_.push_back(written_.front());
  written_.pop_front();
  try_post();
}

void NcclNetworkPipe::try_post() {
  while (!waiting_.empty() && announced_slots_ > 0) {
    --announced_slots_;
    posting_.push_back(waiting_.front());
    waiting_.pop_front();
    ends_.submit_time += half_step();
    environment_.clock.at(ends_.source_proxy.advance(half_step()),
                          Callback::to<&NcclNetworkPipe::post>(*this));
  }
}

void NcclNetworkPipe::post() {
  const Bytes size = posting_.front();
  posting_.pop_front();
  queue_pair_.post({
      .route = route_,
      .size = size,
      .arrived =
          Callback::to<&NcclNetworkPipe::arrived>(*this, static_cast<std::uint64_t>(size.count())),
      .completed = Callback::to<&NcclNetworkPipe::completed>(*this),
      .failed = Callback::to<&NcclNetworkPipe::failed>(*this),
  });
}

void NcclNetworkPipe::completed() {
  environment_.clock.at(
      ends_.source_proxy.advance(half_step()) + environment_.constants.flag_latency,
      Callback::to<&NcclNetworkPipe::slot_reusable>(*this));
}

void NcclNetworkPipe::slot_reusable() { slot_freed(); }

void NcclNetworkPipe::arrived(std::uint64_t size) {
  environment_.clock.at(
      ends_.target_proxy.advance(half_step()) + environment_.constants.flag_latency,
      Callback::to<&NcclNetworkPipe::arrival_seen>(*this, size));
}

void NcclNetworkPipe::arrival_seen(std::uint64_t size) {
  slot_filled(Bytes(static_cast<std::int64_t>(size)));
}

void NcclNetworkPipe::on_drained() {
  environment_.clock.after(environment_.constants.flag_latency,
                           Callback::to<&NcclNetworkPipe::drain_seen>(*this));
}

void NcclNetworkPipe::drain_seen() {
  environment_.clock.at(ends_.target_proxy.advance(half_step()),
                        Callback::to<&NcclNetworkPipe::announce>(*this));
}

// NCCL's clear-to-send: a small RDMA write into the sender's memory.
void NcclNetworkPipe::announce() {
  environment_.clock.after(environment_.queue_pair.one_way_latency,
                           Callback::to<&NcclNetworkPipe::announced>(*this));
}

void NcclNetworkPipe::announced() {
  ++announced_slots_;
  HOCCL_CHECK(announced_slots_ <= slot_count(), "{} slots announced of {}", announced_slots_,
              slot_count());
  try_post();
}

void NcclNetworkPipe::failed() {
  HOCCL_CHECK(false, "a write of rank {} failed; this model knows no faults", ends_.source);
}

}  // namespace hoccl::sim
