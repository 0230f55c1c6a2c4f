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
    if (part.sending) {
      slice_ = std::min(part.remaining, part.pipe->step());
      part.pipe->begin_send(part, slice_);
    } else {
      slice_ = part.pipe->begin_receive(part);
    }
    loop_.copy(part.pipe->copy_route(part.sending), slice_, part.sending ? "sm_send" : "sm_receive",
               Callback::to<&NcclWarps::copied>(*this));
    return;
  }
}

void NcclWarps::copied() {
  NcclPart& part = *current_;
  current_ = nullptr;
  const bool last = part.remaining == slice_;
  if (last) std::erase(parts_, &part);
  part.pipe->end(part, slice_);
  // Ends the kernel, and these warps with it, when it was the last part.
  if (last && part.kernel->work_finished(part.channel)) return;
  serve();
}

}  // namespace hoccl::sim
