#include "engine/pipeline/registered_sender.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/pipeline/operation_state.h"

namespace hoccl::engine {

RegisteredSender::RegisteredSender(Port& port, const PipelineOptions& options)
    : port_(port), options_(options) {}

RegisteredSender::Link& RegisteredSender::link_of(const SourceFlow& flow) {
  const Transfer& transfer = *flow.transfer;
  const auto [entry, is_new] =
      links_.try_emplace({transfer.send_nic, transfer.receive_nic, transfer.target});
  Link& link = entry->second;
  if (!is_new) return link;
  link.nic = &nics_[transfer.send_nic];
  link.nic->links.push_back(&link);
  for (int i = 0; i < options_.queue_pairs; ++i) {
    // The first ones between two NICs are the send stager's.
    const QueuePairId id = port_.queue_pair(transfer.send_nic, transfer.receive_nic,
                                            transfer.target, options_.queue_pairs + i);
    QueuePair& queue_pair = queue_pairs_[id];
    queue_pair.id = id;
    queue_pair.link = &link;
    link.queue_pairs.push_back(&queue_pair);
  }
  return link;
}

void RegisteredSender::offer(SourceFlow& flow) {
  HOCCL_CHECK(!flow.queued, "flow {} is offered twice", flow.id);
  flow.queued = true;
  const std::int32_t stage = flow.stage_of(flow.first_waiting_chunk());
  const Sharer sharer{flow.transfer->flow_class, flow.operation->operation.id.communicator};
  link_of(flow).waiting[sharer].insert(
      {stage, flow.turn(options_.interleave), next_order_++, &flow});
}

void RegisteredSender::drop(const OperationState& state) {
  for (auto& [ends, link] : links_) {
    for (auto sharer = link.waiting.begin(); sharer != link.waiting.end();) {
      std::erase_if(sharer->second, [&](const Waiting& waiting) {
        if (waiting.flow->operation != &state) return false;
        waiting.flow->queued = false;
        return true;
      });
      sharer = sharer->second.empty() ? link.waiting.erase(sharer) : std::next(sharer);
    }
  }
}

/// The NIC's depth keeps stages apart. Without them nobody paces who sends to a target, and a busy
/// one must not hold up the others: then each may have a write in flight, for writes need no slots.
bool RegisteredSender::has_room(const Link& link, const SourceFlow& flow) const {
  if (link.nic->in_flight < options_.nic_depth) return true;
  return link.in_flight == 0 && flow.operation->operation.plan->order == Order::kLocal &&
         flow.transfer->flow_class == FlowClass::kForeground;
}

std::optional<RegisteredSender::Choice> RegisteredSender::choose(const Nic& nic) const {
  const bool background_is_due = nic.patience.ended(port_.now(), options_.background_patience);
  std::optional<Choice> best;
  std::tuple<bool, std::int64_t, std::int32_t, int, double> best_key;
  for (std::size_t tried = 0; tried < nic.links.size(); ++tried) {
    const std::size_t index = (nic.next_link + tried) % nic.links.size();
    Link* link = nic.links[index];
    if (link->waiting.empty()) continue;
    QueuePair* least = *std::ranges::min_element(
        link->queue_pairs, {}, [](const QueuePair* pair) { return pair->in_flight.size(); });
    if (static_cast<int>(least->in_flight.size()) >= options_.queue_depth) continue;
    for (const auto& [sharer, entries] : link->waiting) {
      if (!has_room(*link, *entries.begin()->flow)) continue;
      const bool is_background = sharer.first == FlowClass::kBackground;
      const Waiting& first = *entries.begin();
      const std::tuple key{is_background != background_is_due, nic.share.served(sharer.second),
                           first.stage, link->in_flight, first.position};
      if (best && !(key < best_key)) continue;
      best = Choice{sharer, link, least, index};
      best_key = key;
    }
  }
  return best;
}

/// Returns the flow whose chunk was posted, null when none may go.
SourceFlow* RegisteredSender::post_one(Nic& nic) {
  const std::optional<Choice> choice = choose(nic);
  if (!choice) return nullptr;
  nic.next_link = (choice->index + 1) % nic.links.size();
  nic.share.charge(choice->sharer.second, 1);
  if (choice->sharer.first == FlowClass::kBackground) nic.patience.served();
  const auto entries = choice->link->waiting.find(choice->sharer);
  SourceFlow* flow = entries->second.begin()->flow;
  entries->second.erase(entries->second.begin());
  if (entries->second.empty()) choice->link->waiting.erase(entries);
  flow->queued = false;
  post(*choice->queue_pair, *flow);
  return flow;
}

void RegisteredSender::post(QueuePair& queue_pair, SourceFlow& flow) {
  const OperationState& state = *flow.operation;
  const Transfer& transfer = *flow.transfer;
  const SourceFlow::TakenChunk chunk = flow.take_chunk();
  const auto number = static_cast<std::uint32_t>(chunk.number);
  WriteRequest request;
  request.local = chunk.region;
  request.remote = flow.target_of(chunk);
  request.descriptor.kind = static_cast<std::uint8_t>(MessageKind::kWritten);
  request.descriptor.traffic_class = static_cast<std::uint8_t>(transfer.flow_class);
  request.descriptor.stage = static_cast<std::uint16_t>(flow.stage_of(chunk.number));
  request.descriptor.operation = state.operation.id;
  request.descriptor.flow = static_cast<std::uint32_t>(flow.id.value());
  request.descriptor.chunk = number;
  request.descriptor.size_bytes = static_cast<std::uint32_t>(chunk.region.size.count());
  request.descriptor.target_offset =
      static_cast<std::uint64_t>((transfer.target_offset + chunk.within).count());
  request.tag = {state.operation.id, flow.id, number, port_.rank()};
  port_.post_write(queue_pair.id, request);
  queue_pair.in_flight.push_back({&flow, chunk.number});
  queue_pair.link->in_flight += 1;
  queue_pair.link->nic->in_flight += 1;
}

/// Whether background waits for this NIC.
void RegisteredSender::watch(Nic& nic) const {
  const bool waits = std::ranges::any_of(nic.links, [](const Link* link) {
    return !link->waiting.empty() && link->waiting.rbegin()->first.first == FlowClass::kBackground;
  });
  nic.patience.watch(waits, port_.now());
}

void RegisteredSender::complete(const WritesDone& done, std::vector<Ended>& ended) {
  QueuePair& queue_pair = queue_pairs_.at(done.queue_pair);
  while (queue_pair.last_done < done.ticket) {
    HOCCL_CHECK(!queue_pair.in_flight.empty(), "queue pair {} completed ticket {} of none posted",
                done.queue_pair, done.ticket);
    const Job job = queue_pair.in_flight.front();
    queue_pair.in_flight.pop_front();
    queue_pair.link->in_flight -= 1;
    queue_pair.link->nic->in_flight -= 1;
    queue_pair.last_done = Ticket(queue_pair.last_done.value() + 1);
    const bool is_last = queue_pair.last_done == done.ticket;
    ended.push_back({job.flow, job.chunk, is_last ? done.outcome : Outcome::kOk});
  }
}

bool RegisteredSender::idle() const {
  return std::ranges::all_of(nics_, [](const auto& nic) { return nic.second.in_flight == 0; });
}

}  // namespace hoccl::engine
