#include "sim/machine/gpu_stream.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::sim {

void MemoryWord::store(std::uint64_t value) {
  value_ = value;
  const auto reached =
      std::stable_partition(waiters_.begin(), waiters_.end(),
                            [value](const Waiter& waiter) { return waiter.value > value; });
  // Waking only schedules events, so the list does not change meanwhile.
  for (auto waiter = reached; waiter != waiters_.end(); ++waiter) waiter->stream->word_reached();
  waiters_.erase(reached, waiters_.end());
}

void GpuStream::enqueue_signal(Callback callback, engine::Seconds latency) {
  push({Kind::kSignal, callback, latency});
}

void GpuStream::enqueue_wait(MemoryWord& word, std::uint64_t value, engine::Seconds wake_latency) {
  push({Kind::kWait, {}, wake_latency, &word, value});
}

void GpuStream::enqueue_kernel(engine::Seconds duration, Callback done) {
  push({Kind::kKernel, done, duration});
}

void GpuStream::enqueue_external(Callback begin) { push({Kind::kExternal, begin}); }

void GpuStream::release() {
  HOCCL_CHECK(has_begun_ && items_.front().kind == Kind::kExternal, "begun {}, {} items",
              has_begun_, items_.size());
  front_finished();
}

void GpuStream::push(const Item& item) {
  items_.push_back(item);
  advance();
}

void GpuStream::advance() {
  while (!has_begun_ && !items_.empty()) {
    if (begin_front()) items_.pop_front();
  }
}

bool GpuStream::begin_front() {
  const Item& item = items_.front();
  switch (item.kind) {
    case Kind::kSignal:
      clock_.after(item.time, item.callback);
      return true;
    case Kind::kWait:
      has_begun_ = true;
      if (item.word->value() >= item.value) {
        word_reached();
      } else {
        item.word->waiters_.push_back({this, item.value});
      }
      return false;
    case Kind::kKernel:
      has_begun_ = true;
      clock_.after(item.time, Callback::to<&GpuStream::front_finished>(*this));
      return false;
    case Kind::kExternal: {
      has_begun_ = true;
      const Callback begin = item.callback;
      begin();  // may release() at once
      return false;
    }
  }
  HOCCL_CHECK(false, "kind {}", static_cast<int>(item.kind));
  return false;
}

void GpuStream::word_reached() {
  clock_.after(items_.front().time, Callback::to<&GpuStream::front_finished>(*this));
}

void GpuStream::front_finished() {
  const Item item = items_.front();
  items_.pop_front();
  has_begun_ = false;
  if (item.kind == Kind::kKernel) item.callback();
  advance();
}

}  // namespace hoccl::sim
