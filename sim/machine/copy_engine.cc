#include "sim/machine/copy_engine.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Seconds;

CopyEngine::CopyEngine(Clock& clock, Network& network, const CopyEngineParameters& parameters)
    : clock_(clock), network_(network), parameters_(parameters) {
  HOCCL_CHECK(parameters.concurrency >= 1, "concurrency {}", parameters.concurrency);
  HOCCL_CHECK(parameters.setup_overlap >= 0.0 && parameters.setup_overlap <= 1.0,
              "setup overlap {}", parameters.setup_overlap);
  servers_.resize(static_cast<std::size_t>(parameters.concurrency));
}

LaneId CopyEngine::add_lane() {
  lanes_.emplace_back();
  return LaneId(lanes_.size() - 1);
}

void CopyEngine::submit(LaneId lane_id, std::span<const Copy> batch) {
  HOCCL_CHECK(lane_id.index() < lanes_.size(), "no lane {}", lane_id.value());
  HOCCL_CHECK(!batch.empty(), "empty batch on lane {}", lane_id.value());
  Lane& lane = lanes_[lane_id.index()];
  const Seconds ready = clock_.now() + parameters_.launch_latency;
  const bool was_idle = lane.queue.empty() && !lane.is_served;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    lane.queue.push_back({batch[i], ready, next_sequence_++, i == 0, i + 1 == batch.size()});
  }
  pending_count_ += batch.size();
  if (was_idle) lane_freed(lane_id);
}

/// The head of the lane, if any, is next: it waits until it is ready, then for a server.
void CopyEngine::lane_freed(LaneId lane_id) {
  const Lane& lane = lanes_[lane_id.index()];
  if (lane.queue.empty()) return;
  if (lane.queue.front().ready > clock_.now()) {
    clock_.at(lane.queue.front().ready,
              Callback::to<&CopyEngine::head_ready>(*this, lane_id.index()));
    return;
  }
  wait_for_server(lane_id);
  dispatch();
}

void CopyEngine::head_ready(std::uint64_t lane) {
  wait_for_server(LaneId(lane));
  dispatch();
}

void CopyEngine::wait_for_server(LaneId lane) {
  const auto arrived_before = [this](LaneId left, LaneId right) {
    const Item& first = lanes_[left.index()].queue.front();
    const Item& second = lanes_[right.index()].queue.front();
    return first.ready < second.ready ||
           (first.ready == second.ready && first.sequence < second.sequence);
  };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), lane, arrived_before), lane);
}

void CopyEngine::dispatch() {
  while (!waiting_.empty() && busy_servers_ < parameters_.concurrency) {
    const LaneId lane = waiting_.front();
    waiting_.erase(waiting_.begin());
    serve(choose_server(lanes_[lane.index()]), lane);
  }
}

/// The one that served the lane last, because only there a setup overlaps with a transfer.
std::size_t CopyEngine::choose_server(const Lane& lane) const {
  if (!servers_[lane.last_server].is_busy) return lane.last_server;
  const auto free = std::ranges::find(servers_, false, &Server::is_busy);
  return static_cast<std::size_t>(free - servers_.begin());
}

void CopyEngine::serve(std::size_t server_index, LaneId lane_id) {
  Lane& lane = lanes_[lane_id.index()];
  Server& server = servers_[server_index];
  HOCCL_CHECK(!server.is_busy && !lane.is_served, "server {} busy {}, lane {} served {}",
              server_index, server.is_busy, lane_id.value(), lane.is_served);
  if (busy_servers_++ == 0) busy_since_ = clock_.now();
  server.is_busy = true;
  server.lane = lane_id;
  server.item = std::move(lane.queue.front());
  lane.queue.pop_front();
  lane.is_served = true;
  lane.last_server = server_index;

  const Seconds setup = server.item.first_of_batch ? parameters_.setup : parameters_.setup_in_batch;
  const Seconds earliest = std::max(server.item.ready, server.transfer_start) + setup;
  const Seconds serial = server.free_at + (1.0 - parameters_.setup_overlap) * setup;
  const Seconds start = std::max({earliest, serial, clock_.now()});
  server.begin = std::max(start - setup, server.free_at);
  if (start > clock_.now()) {
    clock_.at(start, Callback::to<&CopyEngine::begin_transfer>(*this, server_index));
  } else {
    begin_transfer(server_index);
  }
}

void CopyEngine::begin_transfer(std::uint64_t server_index) {
  Server& server = servers_[server_index];
  server.transfer_start = clock_.now();
  network_.start(server.item.copy.route, server.item.copy.size,
                 Callback::to<&CopyEngine::transfer_ended>(*this, server_index),
                 server.item.copy.rate_limit);
}

void CopyEngine::transfer_ended(std::uint64_t server_index) {
  Server& server = servers_[server_index];
  Lane& lane = lanes_[server.lane.index()];
  const Copy& copy = server.item.copy;
  if (observer_ != nullptr) {
    observer_->copied({server.begin, clock_.now(), server.lane, static_cast<int>(server_index),
                       copy.size, copy.tag});
  }
  lane.finished.push_back(copy.done);
  if (server.item.last_of_batch) finish_batch(lane);
  server.is_busy = false;
  server.free_at = clock_.now();
  if (--busy_servers_ == 0) busy_ += server.free_at - busy_since_;
  lanes_[server.lane.index()].is_served = false;
  lane_freed(server.lane);
  dispatch();
}

void CopyEngine::finish_batch(Lane& lane) {
  if (free_batches_.empty()) {
    free_batches_.push_back(complete_batches_.size());
    complete_batches_.emplace_back();
  }
  const std::uint64_t batch = free_batches_.back();
  free_batches_.pop_back();
  std::swap(complete_batches_[batch], lane.finished);
  clock_.after(parameters_.completion_latency,
               Callback::to<&CopyEngine::batch_complete>(*this, batch));
}

void CopyEngine::batch_complete(std::uint64_t batch) {
  // Out of the table while callbacks run, which may submit and so grow it.
  std::vector<Callback> done = std::move(complete_batches_[batch]);
  pending_count_ -= done.size();
  for (const Callback& callback : done) callback();
  done.clear();
  complete_batches_[batch] = std::move(done);
  free_batches_.push_back(batch);
}

}  // namespace hoccl::sim
