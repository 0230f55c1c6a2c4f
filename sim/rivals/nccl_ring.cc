#include "sim/rivals/nccl_ring.h"

#include <algorithm>

#include "engine/base/check.h"
#include "sim/rivals/nccl_kernel.h"

namespace hoccl::sim {

using engine::Bytes;

int NcclRingProgram::steps() const {
  switch (kind) {
    case NcclRingKind::kAllGather:
    case NcclRingKind::kReduceScatter:
      return rank_count;
    case NcclRingKind::kAllReduce:
      return 2 * rank_count - 1;
    case NcclRingKind::kBroadcast:
      return 1;
  }
  HOCCL_CHECK(false, "ring kind {}", static_cast<int>(kind));
}

bool NcclRingProgram::receives(int step) const {
  return kind == NcclRingKind::kBroadcast ? position > 0 : step > 0;
}

bool NcclRingProgram::sends(int step) const {
  return kind == NcclRingKind::kBroadcast ? position < rank_count - 1 : step < steps() - 1;
}

Bytes NcclRingProgram::received() const {
  std::int64_t count = 0;
  for (int step = 0; step < steps(); ++step) count += receives(step) ? 1 : 0;
  return block * count;
}

Bytes NcclRingProgram::sent() const {
  std::int64_t count = 0;
  for (int step = 0; step < steps(); ++step) count += sends(step) ? 1 : 0;
  return block * count;
}

NcclRing::NcclRing(const NcclEnvironment& environment, NcclKernel& kernel, engine::Rank rank,
                   int channel, NcclPipe& before, NcclPipe& next, const NcclRingProgram& program)
    : kernel_(kernel),
      program_(program),
      loop_(environment, rank, channel),
      receive_{.kernel = &kernel,
               .worker = this,
               .pipe = &before,
               .channel = channel,
               .sending = false,
               .remaining = program.received()},
      send_{.kernel = &kernel,
            .worker = this,
            .pipe = &next,
            .channel = channel,
            .sending = true,
            .remaining = program.sent()} {
  HOCCL_CHECK(program.block > Bytes(0) && program.slice > Bytes(0), "a ring of no bytes");
}

void NcclRing::open() {
  if (receive_.remaining > Bytes(0)) receive_.pipe->open(receive_);
  if (send_.remaining > Bytes(0)) send_.pipe->open(send_);
  slice_ = std::min(program_.slice, program_.block);
}

void NcclRing::serve() {
  if (busy_ || has_ended()) return;
  const bool receives = program_.receives(step_);
  const bool sends = program_.sends(step_);
  if (receives && !receive_.pipe->is_ready(receive_)) return;
  if (sends && !send_.pipe->is_ready(send_)) return;
  busy_ = true;
  if (receives) {
    const Bytes arrived = receive_.pipe->begin_receive(receive_);
    HOCCL_CHECK(arrived == slice_, "a slice of {} bytes where {} were due", arrived.count(),
                slice_.count());
  }
  std::optional<RouteId> route;
  if (sends) {
    send_.pipe->begin_send(send_, slice_);
    route = send_.pipe->copy_route(true);
  } else {
    route = receive_.pipe->copy_route(false);
  }
  loop_.copy(route, slice_, receives && sends ? "sm_pass_on" : (sends ? "sm_send" : "sm_receive"),
             Callback::to<&NcclRing::copied>(*this));
}

void NcclRing::copied() {
  if (program_.receives(step_)) receive_.pipe->end(receive_, slice_);
  if (program_.sends(step_)) send_.pipe->end(send_, slice_);
  busy_ = false;
  if (++step_ == program_.steps()) {
    step_ = 0;
    done_ += slice_;
    slice_ = std::min(program_.slice, program_.block - done_);
  }
  // Ends this, too.
  if (has_ended() && kernel_.work_finished(send_.channel)) return;
  serve();
}

}  // namespace hoccl::sim
