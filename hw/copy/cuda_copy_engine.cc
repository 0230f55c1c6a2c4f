#include "hw/copy/cuda_copy_engine.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "hw/copy/copy_channel.h"
#include "hw/copy/post_copy_raii.h"
#include "hw/cuda/cuda_devices.h"
#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::CopiesDone;
using engine::Lane;
using engine::Outcome;
using engine::Seconds;
using engine::Ticket;

CudaCopyEngine::CudaCopyEngine(int device, bool strict, LegTrace& trace)
    : device_(device), strict_(strict), trace_(trace) {}

CudaCopyEngine::~CudaCopyEngine() {
  // Memory of a copy that is under way is given back with its batch: not before it has ended.
  for (const auto& [id, lane] : lanes_) cudaStreamSynchronize(lane.stream.get());
}

Ticket CudaCopyEngine::post(Lane id, Copy copy) {
  const bool on_sms = !runs_on_copy_engine(id.copy_class, copy.size);
  HOCCL_CHECK(!strict_ || !on_sms, "a copy of {} bytes would run on SMs", copy.size.count());
  use_.copies += 1;
  use_.on_sms += on_sms ? 1 : 0;
  LaneState& lane = lane_of(id);
  lane.open.push_back(std::move(copy));
  lane.posted += 1;
  if (singly_.load(std::memory_order_relaxed)) hand_over(id, lane);
  return Ticket(lane.posted);
}

void CudaCopyEngine::flush() {
  for (auto& [id, lane] : lanes_) {
    if (!lane.open.empty()) hand_over(id, lane);
  }
}

CudaCopyEngine::LaneState& CudaCopyEngine::lane_of(Lane id) {
  const auto known = lanes_.find(id);
  if (known != lanes_.end()) return known->second;
  use_cuda_device(device_);
  const std::scoped_lock lock(lanes_mutex_);
  return lanes_[id];
}

bool CudaCopyEngine::idle() const {
  const std::scoped_lock lock(lanes_mutex_);
  return std::ranges::all_of(lanes_, [](const auto& lane) {
    return cudaStreamQuery(lane.second.stream.get()) != cudaErrorNotReady;
  });
}

CudaEvent CudaCopyEngine::take_event() {
  if (free_events_.empty()) return CudaEvent();
  CudaEvent event = std::move(free_events_.back());
  free_events_.pop_back();
  return event;
}

std::vector<Copy> CudaCopyEngine::take_list() {
  if (free_lists_.empty()) return {};
  std::vector<Copy> list = std::move(free_lists_.back());
  free_lists_.pop_back();
  return list;
}

void CudaCopyEngine::hand_over(Lane id, LaneState& lane) {
  use_cuda_device(device_);
  const bool traced = trace_.is_on();
  Batch batch{.copies = std::exchange(lane.open, take_list()),
              .last = lane.posted,
              .end = traced ? CudaEvent(CudaEvent::Timing::kOn) : take_event(),
              .begin = std::nullopt};
  const Seconds begin = monotonic_now();
  if (traced) batch.begin = clock_.begin(lane.stream.get());
  call(id.copy_class, batch.copies, lane.stream.get());
  const Seconds posted = monotonic_now();
  // An event, because a word that the stream writes waits for other streams' copies
  // (hw/GOTCHAS.md).
  require_cuda(cudaEventRecord(batch.end.get(), lane.stream.get()), "record an event");
  const Seconds end = monotonic_now();
  use_.time += end - begin;
  if (!traced) {
    const auto copy_class = static_cast<std::size_t>(id.copy_class);
    if (batch.copies.size() == 1) {
      calls_.alone.at(copy_class).add(posted - begin);
    } else {
      calls_.batches.at(copy_class).add(static_cast<double>(batch.copies.size()), posted - begin);
    }
    calls_.event.add(end - posted);
  }
  lane.in_flight.push_back(std::move(batch));
  in_flight_.fetch_add(1);
}

void CudaCopyEngine::call(engine::CopyClass copy_class, const std::vector<Copy>& copies,
                          cudaStream_t stream) {
  if (copies.size() == 1) {
    // No dearer than a batch of one (2.2 to 2.4 us, measured on an H200), and it has a record of
    // CUPTI.
    const Copy& copy = copies.front();
    post_copy(copy_class, copy.target.data, copy.source.data, copy.size, stream);
    return;
  }
  call_.clear();
  rows_.clear();
  for (const Copy& copy : copies) {
    const auto size = static_cast<std::size_t>(copy.size.count());
    if (needs_rows(copy_class, copy.size)) {
      rows_.add(copy.target.data, copy.source.data, size);
    } else {
      call_.add(copy.target.data, copy.source.data, size);
    }
  }
  if (!call_.empty()) call_.post(stream);
  if (!rows_.empty()) rows_.post(stream);
}

std::optional<CopiesDone> CudaCopyEngine::poll() {
  if (in_flight_.load() == 0) return std::nullopt;
  // A query takes the driver over a microsecond, so a round asks no lane twice.
  if (next_to_ask_ == lanes_.end()) next_to_ask_ = lanes_.begin();
  while (next_to_ask_ != lanes_.end()) {
    auto& [id, lane] = *next_to_ask_++;
    if (auto done = poll_lane(id, lane)) return done;
  }
  return std::nullopt;
}

bool CudaCopyEngine::has_ended(LaneState& lane) {
  const Seconds begin = monotonic_now();
  const cudaError_t state = cudaEventQuery(lane.in_flight.front().end.get());
  const Seconds took = monotonic_now() - begin;
  use_.time += took;
  (state == cudaErrorNotReady ? calls_.pending : calls_.done).add(took);
  if (state == cudaErrorNotReady) return false;
  lane.is_broken = state != cudaSuccess;
  return true;
}

std::optional<CopiesDone> CudaCopyEngine::poll_lane(Lane id, LaneState& lane) {
  Outcome outcome = Outcome::kOk;
  const std::int64_t before = lane.reported;
  while (!lane.in_flight.empty()) {
    Batch& batch = lane.in_flight.front();
    if (!lane.is_broken && !has_ended(lane)) break;
    if (lane.is_broken) {
      // A kError completion ends this very ticket, so what ended well is told first.
      if (lane.reported > before) break;
      outcome = Outcome::kError;
      lane.reported += 1;
      if (lane.reported < batch.last) break;
    } else {
      lane.reported = batch.last;
      finish(id, batch);
    }
    batch.copies.clear();
    free_lists_.push_back(std::move(batch.copies));
    lane.in_flight.pop_front();
    in_flight_.fetch_sub(1);
    if (lane.is_broken) break;
  }
  if (lane.reported == before) return std::nullopt;
  return CopiesDone{id, Ticket(lane.reported), outcome};
}

void CudaCopyEngine::finish(Lane id, Batch& batch) {
  if (!batch.begin) {
    free_events_.push_back(std::move(batch.end));
    return;
  }
  // The stream may have got there while the engine was still busy with another stream's copies.
  Seconds& engine_free = engine_free_[static_cast<std::size_t>(id.copy_class)];
  const CudaCopyClock::Interval ran = clock_.interval(*batch.begin, batch.end);
  Seconds begin = std::max(ran.begin, std::min(engine_free, ran.end));
  engine_free = std::max(engine_free, ran.end);
  // Inside a batch nothing tells one copy's end from the next one's begin but its bytes.
  engine::Bytes left(0);
  for (const Copy& copy : batch.copies) left += copy.size;
  for (const Copy& copy : batch.copies) {
    const double share = static_cast<double>(copy.size.count()) / static_cast<double>(left.count());
    const Seconds end = begin + (ran.end - begin) * share;
    trace_.copied(id, copy.leg, copy.tag, copy.size, begin, end);
    begin = end;
    left -= copy.size;
  }
}

}  // namespace hoccl::hw
