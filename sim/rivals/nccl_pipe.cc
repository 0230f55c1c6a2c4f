#include "sim/rivals/nccl_pipe.h"

#include <algorithm>

#include "engine/base/check.h"
#include "sim/rivals/nccl_warps.h"

namespace hoccl::sim {

using engine::Bytes;

void NcclPipe::open(NcclPart& part) { (part.sending ? senders_ : receivers_).push_back(&part); }

void NcclPipe::close(NcclPart& part) {
  std::deque<NcclPart*>& parts = part.sending ? senders_ : receivers_;
  HOCCL_CHECK(!parts.empty() && parts.front() == &part && part.remaining == Bytes(0),
              "a part with {} bytes left was closed out of turn", part.remaining.count());
  parts.pop_front();
  wake(parts);
}

bool NcclPipe::is_ready(const NcclPart& part) const {
  const std::deque<NcclPart*>& parts = part.sending ? senders_ : receivers_;
  if (parts.empty() || parts.front() != &part) return false;
  return part.sending ? used_slots_ < slot_count_ : !filled_.empty();
}

Bytes NcclPipe::begin(const NcclPart& part) {
  if (part.sending) {
    ++used_slots_;
    return std::min(part.remaining, step_);
  }
  const Bytes size = filled_.front();
  HOCCL_CHECK(size <= part.remaining, "a slice of {} bytes for a receive with {} bytes left",
              size.count(), part.remaining.count());
  filled_.pop_front();
  return size;
}

void NcclPipe::end(const NcclPart& part, Bytes size) {
  if (part.sending) {
    on_written(size);
  } else {
    on_drained();
  }
}

void NcclPipe::slot_freed() {
  HOCCL_CHECK(used_slots_ > 0, "{} slots in use", used_slots_);
  --used_slots_;
  wake(senders_);
}

void NcclPipe::slot_filled(Bytes size) {
  filled_.push_back(size);
  wake(receivers_);
}

void NcclPipe::wake(const std::deque<NcclPart*>& parts) {
  if (!parts.empty()) parts.front()->warps->serve();
}

}  // namespace hoccl::sim
