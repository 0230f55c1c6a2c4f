#include "sim/rivals/nccl_pipe.h"

#include "engine/base/check.h"

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

void NcclPipe::begin_send(const NcclPart& part, Bytes size) {
  HOCCL_CHECK(size > Bytes(0) && size <= step_ && size <= part.remaining,
              "a slice of {} bytes of {} left, slots of {}", size.count(), part.remaining.count(),
              step_.count());
  ++used_slots_;
}

Bytes NcclPipe::begin_receive(const NcclPart& part) {
  const Bytes size = filled_.front();
  HOCCL_CHECK(size <= part.remaining, "a slice of {} bytes for a receive with {} bytes left",
              size.count(), part.remaining.count());
  filled_.pop_front();
  return size;
}

void NcclPipe::end(NcclPart& part, Bytes size) {
  part.remaining -= size;
  // The other side may be waiting for this slice or slot, so it is told before the part is closed.
  if (part.sending) {
    on_written(size);
  } else {
    on_drained();
  }
  if (part.remaining == Bytes(0)) close(part);
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
  if (!parts.empty()) parts.front()->worker->serve();
}

}  // namespace hoccl::sim
