#include "hw/fabric/hw_port.h"

#include <fmt/format.h>

#include <cstring>
#include <ctime>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/command.h"
#include "hw/fabric/make_link.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

using engine::Arrived;
using engine::BufferHandle;
using engine::Completion;
using engine::Gate;
using engine::Lane;
using engine::Message;
using engine::MessageArrived;
using engine::NicId;
using engine::PlaceId;
using engine::QueuePairId;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::Sequence;
using engine::Status;
using engine::StreamId;
using engine::Ticket;
using engine::WorkId;

namespace {

Seconds thread_cpu_time() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
}

/// The ranks that share memory: all of them where shared memory is the wire, else those of a node
/// of the topology.
std::vector<Rank> ranks_sharing_memory(const engine::Topology& topology, Rank rank,
                                       const HwOptions& options) {
  std::vector<Rank> ranks;
  if (options.link == LinkKind::kVerbs) {
    const auto local = topology.ranks_of(topology.node_of(rank));
    ranks.assign(local.begin(), local.end());
  } else {
    for (int other = 0; other < topology.rank_count(); ++other) ranks.emplace_back(other);
  }
  return ranks;
}

/// Slots lie where NICs reach them.
StagingPool::Shape shape_of_slots(const HwOptions& options, const engine::Topology& topology,
                                  Rank rank, Device& device) {
  StagingPool::Shape shape{options.slots, options.slot_size};
  const std::string objection = objection_to_gpu_slots(options, topology, rank, device);
  if (objection.empty()) return shape;
  warn(fmt::format("hoccl: rank {}: slots lie in the host's memory: {}\n", rank, objection));
  shape.in_host_memory = true;
  return shape;
}

}  // namespace

/// Adds the CPU time of its scope to the port's submit time. Posting a copy is the driver's work,
/// who is timed already where there is one. A thread that polls has a core to itself, so there the
/// clock that costs a tenth tells the same.
class HwPort::SubmitClock {
 public:
  enum class Of : std::uint8_t { kCopies, kWrites };

  SubmitClock(HwPort& port, Of what) : port_(port), what_(what), begin_(now()) {
    port_.activity_ += 1;
  }
  ~SubmitClock() {
    const double spent = (now() - begin_).count();
    port_.submit_seconds_.store(port_.submit_seconds_.load(std::memory_order_relaxed) + spent,
                                std::memory_order_relaxed);
  }
  SubmitClock(const SubmitClock&) = delete;
  SubmitClock& operator=(const SubmitClock&) = delete;

 private:
  [[nodiscard]] Seconds now() const {
    if (what_ == Of::kCopies) {
      if (const auto driver = port_.copies_->driver_use()) return driver->time;
    }
    return port_.device_->has_own_memory() ? monotonic_now() : thread_cpu_time();
  }

  HwPort& port_;
  const Of what_;
  const Seconds begin_;
};

HwPort::HwPort(Bootstrap& bootstrap, const engine::Topology& topology, const HwOptions& options)
    : rank_(bootstrap.rank()),
      topology_(topology),
      slots_{.slot_size = options.slot_size,
             .send_slots = options.slots,
             .receive_slots = options.slots},
      trace_(rank_),
      device_(make_device(options, topology, rank_)) {
  node_ =
      std::make_unique<Node>(bootstrap, topology, ranks_sharing_memory(topology, rank_, options),
                             shape_of_slots(options, topology, rank_, *device_), *device_,
                             Node::Events{[this](const Completion& completion) { put(completion); },
                                          [this](Rank peer, bool died) { lost(peer, died); }});
  foreground_ = std::make_unique<ForegroundBoard>(rank_, topology, node_->segments());
  copy_board_ = std::make_unique<CopyBoard>(rank_, topology, node_->segments());
  streams_ = device_->make_streams([this](const engine::GateReached& reached) { tell(reached); });
  copies_ = device_->make_copy_engine([this] { doorbell().ring(); }, trace_);
  link_ = make_link(options, bootstrap, topology, *node_, *device_, trace_,
                    LinkEvents{[this](const Completion& completion) { put(completion); },
                               [this](Rank peer, bool died) { lost(peer, died); }});
}

HwPort::~HwPort() = default;

/// Where a region's bytes are, in the topology's terms.
PlaceId HwPort::place_of(const Region& region) const {
  if (node_->staging().is_slot(region.buffer)) return PlaceId(region.buffer.id / 2);
  return topology_.gpu_place(topology_.gpu_of(region.buffer.owner));
}

Ticket HwPort::post_copy(Lane lane, const engine::CopyRequest& request) {
  const SubmitClock clock(*this, SubmitClock::Of::kCopies);
  HOCCL_CHECK(request.source.size == request.target.size && request.source.size.count() > 0,
              "copy of {} bytes to a region of {}", request.source.size.count(),
              request.target.size.count());
  HOCCL_CHECK(place_of(request.source) != place_of(request.target),
              "a copy within place {} would run on SMs", place_of(request.source));
  return copies_->post(lane, {node_->bytes(request.source), node_->bytes(request.target),
                              request.source.size, request.leg, request.tag});
}

void HwPort::flush() {
  const SubmitClock clock(*this, SubmitClock::Of::kCopies);
  copies_->flush();
}

Ticket HwPort::post_write(QueuePairId queue_pair, const engine::WriteRequest& request) {
  const SubmitClock clock(*this, SubmitClock::Of::kWrites);
  work_.posts += 1;
  return link_->post_write(queue_pair, request);
}

void HwPort::post_message(Rank target, const Message& message) {
  activity_ += 1;
  work_.posts += 1;
  if (!node_->is_member(target)) return link_->post_message(target, message);
  Record record;
  std::memcpy(record.payload.data(), message.bytes.data(), record.payload.size());
  node_->messenger().send(target, record);
}

QueuePairId HwPort::queue_pair(NicId local, NicId remote, Rank peer, int index) {
  return link_->queue_pair(local, remote, peer, index);
}

const engine::StagingPlace& HwPort::staging(PlaceId place) const {
  return node_->staging().place(place);
}

void HwPort::export_buffer(BufferHandle buffer) { node_->buffers().export_buffer(buffer); }
void HwPort::register_buffer(BufferHandle buffer) {
  if (!link_->register_buffer(buffer)) node_->buffers().register_buffer(buffer);
}
void HwPort::import_buffer(BufferHandle buffer) {
  if (!link_->import_buffer(buffer)) node_->buffers().import_buffer(buffer);
}

void HwPort::open_gate(Gate gate, Sequence sequence) {
  work_.notices += 1;
  streams_->open_gate(gate, sequence);
}

void HwPort::account(engine::CpuWork work, std::int64_t count) {
  if (work == engine::CpuWork::kBookkeeping) work_.changes += count;
  if (work == engine::CpuWork::kPlanFlow) work_.flows += count;
}

void HwPort::finish(WorkId work, const Status& status) {
  work_.notices += 1;
  const std::scoped_lock lock(finished_mutex_);
  HOCCL_CHECK(finished_.emplace(work, status).second, "work {} finishes twice", work);
  finished_at_ = monotonic_now();
}

std::optional<Seconds> HwPort::finished_at() const {
  const std::scoped_lock lock(finished_mutex_);
  return finished_at_;
}

std::optional<Status> HwPort::query(WorkId work) const {
  const std::scoped_lock lock(finished_mutex_);
  const auto entry = finished_.find(work);
  if (entry == finished_.end()) return std::nullopt;
  return entry->second;
}

void HwPort::enqueue_ready(Gate gate, Sequence sequence) {
  streams_->enqueue_ready(gate, sequence);
}
void HwPort::enqueue_wait(Gate gate, Sequence sequence) { streams_->enqueue_wait(gate, sequence); }

void HwPort::enqueue_foreground(StreamId stream, bool active) {
  streams_->enqueue_foreground(stream, *foreground_, active);
}

void HwPort::submit(std::shared_ptr<const engine::Command> command) {
  tell(engine::Submitted{std::move(command)});
}

void HwPort::put(Completion completion) {
  const std::scoped_lock lock(mailbox_mutex_);
  mailbox_.push_back(std::move(completion));
  letters_.fetch_add(1, std::memory_order_release);
}

void HwPort::tell(Completion completion) {
  put(std::move(completion));
  doorbell().ring();
}

/// On the mesh's thread, as put() is: node_ may not be there yet, or be going.
void HwPort::lost(Rank peer, bool died) {
  {
    const std::scoped_lock lock(mailbox_mutex_);
    newly_lost_.push_back(peer);
    letters_.fetch_add(1, std::memory_order_release);
  }
  if (died) warn(fmt::format("hoccl: rank {}: rank {} has died\n", rank_, peer));
}

void HwPort::break_queue_pair(std::uint64_t index) {
  to_be_broken_.store(static_cast<std::int64_t>(index), std::memory_order_release);
  doorbell().ring();
}

bool HwPort::idle() const {
  return copies_->idle() && link_->idle() && streams_->idle() && node_->buffers().idle() &&
         node_->messenger().nothing_to_send();
}

/// Foreground work that has ended is seen by looking, too.
bool HwPort::must_be_polled() const {
  return copies_->must_be_polled() || streams_->must_be_polled() ||
         (device_->has_own_memory() && foreground_reported_);
}

Seconds HwPort::submit_time() const {
  return Seconds(submit_seconds_.load(std::memory_order_relaxed));
}

}  // namespace hoccl::hw
