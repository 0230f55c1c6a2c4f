#include "sim/machine/queue_pair.h"

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Seconds;

QueuePair::QueuePair(Clock& clock, Network& network, const QueuePairParameters& parameters)
    : clock_(clock), network_(network), parameters_(parameters) {}

void QueuePair::post(const Write& write) {
  queue_.push_back(write);
  if (in_error_) {
    schedule_flush();
  } else if (stage_ == Stage::kIdle) {
    begin_next();
  }
}

void QueuePair::begin_next() {
  stage_ = Stage::kIdle;
  if (queue_.empty()) return;
  begin_ = clock_.now();
  if (faults_ != nullptr && faults_->should_fail(queue_.front())) {
    stage_ = Stage::kFailing;
    timer_ =
        clock_.after(parameters_.error_latency, Callback::to<&QueuePair::break_connection>(*this));
    return;
  }
  stage_ = Stage::kOverhead;
  if (parameters_.message_overhead > Seconds(0.0)) {
    timer_ =
        clock_.after(parameters_.message_overhead, Callback::to<&QueuePair::begin_transfer>(*this));
  } else {
    begin_transfer();
  }
}

void QueuePair::begin_transfer() {
  HOCCL_CHECK(stage_ == Stage::kOverhead, "stage {}", static_cast<int>(stage_));
  stage_ = Stage::kTransfer;
  const Write& write = queue_.front();
  flow_ = network_.start(write.route, write.size, Callback::to<&QueuePair::transfer_ended>(*this),
                         write.rate_limit);
}

void QueuePair::transfer_ended() {
  HOCCL_CHECK(stage_ == Stage::kTransfer, "stage {}", static_cast<int>(stage_));
  observe(false);
  in_flight_.push_back(queue_.front());
  queue_.pop_front();
  stage_ = Stage::kIdle;
  clock_.after(parameters_.one_way_latency, Callback::to<&QueuePair::arrive>(*this));
  if (!in_error_) begin_next();
}

void QueuePair::arrive() {
  // Latencies are constant, so arrivals come in the order of the transfers.
  const Callback arrived = in_flight_[arrived_count_++].arrived;
  clock_.after(parameters_.completion_latency, Callback::to<&QueuePair::complete>(*this));
  arrived();
}

void QueuePair::complete() {
  const Callback completed = in_flight_.front().completed;
  in_flight_.pop_front();
  --arrived_count_;
  if (in_error_) schedule_flush();
  completed();
}

void QueuePair::fail() {
  if (in_error_) return;
  switch (stage_) {
    case Stage::kIdle:
      break;
    case Stage::kOverhead:
    case Stage::kFailing:
      clock_.cancel(timer_);
      break;
    case Stage::kTransfer:
      if (!network_.cancel(flow_)) {
        // The bytes left at this very instant: transfer_ended() follows, before the flush.
        in_error_ = true;
        schedule_flush();
        return;
      }
      break;
  }
  break_connection();
}

void QueuePair::break_connection() {
  in_error_ = true;
  if (stage_ != Stage::kIdle) observe(true);
  stage_ = Stage::kIdle;
  schedule_flush();
}

void QueuePair::schedule_flush() {
  if (flush_scheduled_ || queue_.empty()) return;
  flush_scheduled_ = true;
  clock_.after(Seconds(0.0), Callback::to<&QueuePair::flush>(*this));
}

void QueuePair::flush() {
  flush_scheduled_ = false;
  if (!in_flight_.empty()) return;  // complete() schedules it again
  std::deque<Write> failed;
  failed.swap(queue_);
  for (const Write& write : failed) write.failed();
}

void QueuePair::reset() {
  HOCCL_CHECK(in_error_ && pending_count() == 0, "in error {}, {} writes pending", in_error_,
              pending_count());
  in_error_ = false;
}

void QueuePair::observe(bool failed) {
  const Write& write = queue_.front();
  busy_ += clock_.now() - begin_;
  if (observer_ != nullptr) {
    observer_->written({begin_, clock_.now(), write.size, write.tag, failed});
  }
}

}  // namespace hoccl::sim
