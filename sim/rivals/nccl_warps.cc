#include "sim/rivals/nccl_warps.h"

#include <algorithm>

#include "sim/rivals/nccl_kernel.h"

namespace hoccl::sim {

using engine::Bytes;

void NcclWarps::serve() {
  if (current_ != nullptr) return;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::size_t index = (next_ + i) % parts_.size();
    NcclPart& part = *parts_[index];
    if (!part.pipe->is_ready(part)) continue;
    next_ = index + 1;
    current_ = &part;
    slice_ = part.pipe->begin(part);
    begin_ = environment_.clock.now();
    environment_.clock.after(environment_.constants.step_overhead,
                             Callback::to<&NcclWarps::copy>(*this));
    return;
  }
}

void NcclWarps::copy() {
  const engine::BytesPerSecond rate = environment_.constants.channel_copy_rate;
  const auto done = Callback::to<&NcclWarps::copied>(*this);
  if (const auto route = current_->pipe->copy_route(current_->sending)) {
    environment_.network.start(*route, slice_, done, rate);
  } else {
    environment_.clock.after(slice_ / rate, done);
  }
}

void NcclWarps::copied() {
  record();
  NcclPart& part = *current_;
  const Bytes size = slice_;
  current_ = nullptr;
  part.remaining -= size;
  const bool finished = part.remaining == Bytes(0);
  if (finished) std::erase(parts_, &part);
  // The other side may be waiting for this slice or slot, so it is told before the part is closed.
  part.pipe->end(part, size);
  if (finished) {
    part.pipe->close(part);
    // Ends the kernel, and these warps with it, when it was the last part.
    if (part.kernel->part_finished()) return;
  }
  serve();
}

void NcclWarps::record() const {
  if (environment_.trace == nullptr) return;
  environment_.trace->record({
      .begin = begin_,
      .end = environment_.clock.now(),
      .track = {rank_, engine::TrackKind::kSm, channel_},
      .name = current_->sending ? "sm_send" : "sm_receive",
      .flow = engine::FlowId::none(),
      .chunk = -1,
      .size = slice_,
      .operation = {},
  });
}

}  // namespace hoccl::sim
