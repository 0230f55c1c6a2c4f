#include "tests/support/ideal_port.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/message_check.h"
#include "engine/pipeline/messages.h"
#include "tests/support/ideal_streams.h"

namespace hoccl::engine {
namespace {

/// Whether `newer` says all that `older` says.
bool covers(const CopiesDone& newer, const CopiesDone& older) { return newer.lane == older.lane; }
bool covers(const WritesDone& newer, const WritesDone& older) {
  return newer.queue_pair == older.queue_pair;
}
bool covers(const GateReached& newer, const GateReached& older) { return newer.gate == older.gate; }

bool is_error(const CopiesDone& done) { return done.outcome == Outcome::kError; }
bool is_error(const WritesDone& done) { return done.outcome == Outcome::kError; }
bool is_error(const GateReached&) { return false; }

template <class Kind>
bool replace_covered(std::deque<Completion>& pending, const Kind& newer) {
  for (auto older = pending.rbegin(); older != pending.rend(); ++older) {
    const Kind* same = std::get_if<Kind>(&*older);
    if (same == nullptr || !covers(newer, *same)) continue;
    // An error is about its own ticket and must be seen.
    if (is_error(*same)) return false;
    pending.erase(std::next(older).base());
    pending.push_back(newer);
    return true;
  }
  return false;
}

}  // namespace

void IdealPort::check_alive() const { HOCCL_CHECK(!dead_, "rank {} acts after its death", rank_); }

Ticket IdealPort::post_copy(Lane lane, const CopyRequest& request) {
  check_alive();
  return lanes_.try_emplace(lane, world_, rank_, lane).first->second.post(request);
}

void IdealPort::flush() {
  check_alive();
  for (auto& [_, lane] : lanes_) lane.flush();
}

Ticket IdealPort::post_write(QueuePairId queue_pair, const WriteRequest& request) {
  check_alive();
  HOCCL_CHECK(!queue_pair.is_none() && queue_pair.index() < queue_pairs_.size(),
              "rank {} has no queue pair {}", rank_, queue_pair);
  return queue_pairs_[queue_pair.index()]->post(request);
}

void IdealPort::post_message(Rank target, const Message& message) {
  check_alive();
  HOCCL_CHECK(!target.is_none() && target.value() < world_.topology.rank_count(),
              "rank {} sends to rank {}, which does not exist", rank_, target);
  world_.events.at_in_order(messages_[target],
                            world_.after(world_.options.closed_form.message_latency),
                            [this, target, message] {
                              world_.ports[target.index()]->push(MessageArrived{rank_, message});
                            });
}

QueuePairId IdealPort::queue_pair(NicId local, NicId remote, Rank peer, int index) {
  check_alive();
  const Topology& topology = world_.topology;
  HOCCL_CHECK(topology.can_use(rank_, local), "rank {} cannot use NIC {}", rank_, local);
  HOCCL_CHECK(topology.can_use(peer, remote), "rank {} cannot use NIC {}", peer, remote);
  HOCCL_CHECK(local != remote && index >= 0, "rank {} asks for queue pair {} from NIC {} to NIC {}",
              rank_, index, local, remote);
  const QueuePairId next(queue_pairs_.size());
  const auto [found, added] = queue_pair_ids_.try_emplace({local, remote, peer, index}, next);
  if (added) {
    queue_pairs_.push_back(
        std::make_unique<IdealQueuePair>(world_, rank_, next, local, remote, peer));
  }
  return found->second;
}

const StagingPlace& IdealPort::staging(PlaceId place) const { return world_.memory.staging(place); }

void IdealPort::export_buffer(BufferHandle buffer) {
  check_alive();
  HOCCL_CHECK(buffer.owner == rank_, "rank {} exports buffer {} of rank {}", rank_, buffer.id,
              buffer.owner);
  const auto& fails = world_.options.faults.export_fails;
  const bool ok = !(fails && fails(buffer));
  world_.events.at(world_.after(world_.options.closed_form.export_latency), [this, buffer, ok] {
    if (ok) world_.memory.set_exported(buffer);
    push(BufferExported{buffer, ok});
  });
}

void IdealPort::register_buffer(BufferHandle buffer) {
  check_alive();
  HOCCL_CHECK(buffer.owner == rank_, "rank {} registers buffer {} of rank {}", rank_, buffer.id,
              buffer.owner);
  const auto& fails = world_.options.faults.register_fails;
  const bool ok = !(fails && fails(buffer));
  world_.events.at(world_.after(world_.options.closed_form.export_latency), [this, buffer, ok] {
    if (ok) world_.memory.set_registered(buffer);
    push(BufferRegistered{buffer, ok});
  });
}

void IdealPort::import_buffer(BufferHandle buffer) {
  check_alive();
  const bool local = world_.topology.node_of(buffer.owner) == world_.topology.node_of(rank_);
  const bool open = local ? world_.memory.is_exported(buffer) : world_.memory.is_registered(buffer);
  HOCCL_CHECK(open, "rank {} imports buffer {} of rank {} too early", rank_, buffer.id,
              buffer.owner);
  const auto& fails = world_.options.faults.import_fails;
  const bool refused = fails && fails(rank_, buffer);
  world_.events.at(world_.after(world_.options.closed_form.export_latency), [=, this] {
    const bool ok = !refused && !world_.ports[buffer.owner.index()]->dead();
    if (ok) world_.memory.add_importer(buffer, rank_);
    push(BufferImported{buffer, ok});
  });
}

void IdealPort::open_gate(Gate gate, Sequence sequence) {
  check_alive();
  world_.streams->open_gate(rank_, gate, sequence);
}

void IdealPort::finish(WorkId work, const Status& status) {
  check_alive();
  HOCCL_CHECK(finished_.emplace(work, status).second, "rank {} finishes work {} twice", rank_,
              work);
}

std::size_t IdealPort::poll(std::span<Completion> out) {
  check_alive();
  std::size_t count = std::min(out.size(), pending_.size());
  if (budget_) count = std::min(count, *budget_);
  if (count > 1 && world_.adversarial()) {
    count = static_cast<std::size_t>(world_.random.between(1, static_cast<std::int64_t>(count)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (world_.proxies_run) check_message(pending_.front());
    polled(pending_.front());
    out[i] = std::move(pending_.front());
    pending_.pop_front();
  }
  if (budget_) *budget_ -= count;
  return count;
}

void IdealPort::polled(const Completion& completion) {
  if (const auto* copies = std::get_if<CopiesDone>(&completion)) {
    lanes_.at(copies->lane).polled(copies->ticket);
  } else if (const auto* writes = std::get_if<WritesDone>(&completion)) {
    queue_pairs_[writes->queue_pair.index()]->polled(writes->ticket);
  }
}

/// A fabric that turns away garbage must not turn away what a proxy says.
void IdealPort::check_message(const Completion& completion) const {
  const IdealOptions& options = world_.options;
  const SlotSupply slots{options.slot_size, options.send_slots, options.receive_slots};
  std::string wrong;
  if (const auto* message = std::get_if<MessageArrived>(&completion)) {
    wrong = wrong_with(message->message, message->source, rank_, world_.topology, slots);
  } else if (const auto* arrival = std::get_if<Arrived>(&completion)) {
    const Topology& topology = world_.topology;
    const bool written =
        arrival->descriptor.kind == static_cast<std::uint8_t>(MessageKind::kWritten);
    const GpuId gpu = topology.nic(arrival->remote_nic).gpu;
    const Rank sender = written ? topology.rank_on(gpu).value_or(Rank::none())
                                : topology.host_of(topology.place_of(arrival->remote_nic));
    wrong = wrong_with(*arrival, sender, rank_, topology, slots);
  }
  HOCCL_CHECK(wrong.empty(), "rank {} receives what it would refuse: {}", rank_, wrong);
}

void IdealPort::account(CpuWork work, std::int64_t count) { accounted_[work] += count; }

void IdealPort::report_copies(GpuId gpu, LinkSide side, int under_way) {
  HOCCL_CHECK(topology().gpu(gpu).node == topology().node_of(rank_),
              "rank {} reports copies of GPU {}, which is on another node", rank_, gpu);
  HOCCL_CHECK(under_way >= 0, "{} copies under way", under_way);
  world_.copies_under_way[{gpu, side, rank_}] = under_way;
}

int IdealPort::copies_under_way(GpuId gpu, LinkSide side) const {
  int sum = 0;
  const auto end = world_.copies_under_way.end();
  for (auto told = world_.copies_under_way.lower_bound({gpu, side, Rank(0)}); told != end; ++told) {
    const auto& [of, its_side, teller] = told->first;
    if (of != gpu || its_side != side) break;
    if (!world_.ports[teller.index()]->dead()) sum += told->second;
  }
  return sum;
}

std::int64_t IdealPort::accounted(CpuWork work) const {
  const auto found = accounted_.find(work);
  return found == accounted_.end() ? 0 : found->second;
}

void IdealPort::enqueue_ready(Gate gate, Sequence sequence) {
  world_.streams->enqueue_ready(rank_, gate, sequence);
}

void IdealPort::enqueue_wait(Gate gate, Sequence sequence) {
  world_.streams->enqueue_wait(rank_, gate, sequence);
}

void IdealPort::enqueue_foreground(StreamId stream, bool active) {
  world_.streams->enqueue_foreground(rank_, stream, active);
}

void IdealPort::submit(std::shared_ptr<const Command> command) {
  world_.events.at_in_order(mailbox_, world_.after(Seconds(0.0)),
                            [this, command] { push(Submitted{command}); });
}

std::optional<Status> IdealPort::query(WorkId work) const {
  const auto found = finished_.find(work);
  if (found == finished_.end()) return std::nullopt;
  return found->second;
}

bool IdealPort::coalesce(const Completion& completion) {
  return std::visit(
      [&](const auto& kind) {
        using Kind = std::decay_t<decltype(kind)>;
        if constexpr (std::is_same_v<Kind, CopiesDone> || std::is_same_v<Kind, WritesDone> ||
                      std::is_same_v<Kind, GateReached>) {
          return replace_covered(pending_, kind);
        } else {
          return false;
        }
      },
      completion);
}

void IdealPort::push(Completion completion) {
  if (dead_) return;
  wake_ = true;
  // The seam reports copies, writes and gates cumulatively, so a proxy may never count completions.
  if (world_.adversarial() && world_.random.chance(0.5) && coalesce(completion)) return;
  pending_.push_back(std::move(completion));
}

void IdealPort::die() {
  if (std::exchange(dead_, true)) return;
  pending_.clear();
  const IdealFaults& faults = world_.options.faults;
  for (auto& [_, lane] : lanes_) lane.die(faults.dead_dma_finishes);
  for (const auto& queue_pair : queue_pairs_) queue_pair->die(faults.dead_dma_finishes);
  world_.streams->die(rank_);
  if (faults.detection_delay < Seconds(0.0)) return;
  world_.events.at(world_.events.now() + faults.detection_delay, [this] { report_lost(); });
}

void IdealPort::report_lost() {
  for (auto& [_, lane] : lanes_) lane.revoke();
  for (const auto& queue_pair : queue_pairs_) queue_pair->revoke();
  for (const auto& port : world_.ports) {
    if (port.get() == this) continue;
    // In the channel of its messages: the last one came before.
    world_.events.at_in_order(messages_[port->rank()], world_.after(Seconds(0.0)),
                              [this, other = port.get()] { other->push(PeerLost{rank_}); });
  }
}

}  // namespace hoccl::engine
