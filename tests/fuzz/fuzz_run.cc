#include "tests/fuzz/fuzz_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/byte_pattern.h"

namespace hoccl::engine {
namespace {

/// Bytes around a message in its buffer that nobody may touch.
constexpr Bytes kMargin(24);
constexpr std::byte kUntouched{0x5a};

std::uint64_t pattern_of(std::size_t message) { return 1000 + message; }

}  // namespace

FuzzRun::FuzzRun(const FuzzCase& fuzz_case)
    : case_(fuzz_case),
      random_(fuzz_case.fabric.seed),
      fabric_(fuzz_case.topology, fuzz_case.fabric),
      job_(fabric_, fuzz_case.topology.rank_count(), fuzz_case.pipeline, fuzz_case.compile) {
  number_messages();
  enqueue_messages();
}

void FuzzRun::number_messages() {
  std::map<std::pair<Rank, Rank>, std::uint32_t> numbers;
  std::uint32_t next_collective = 0;
  for (const FuzzMessage& message : case_.messages) {
    OperationId id;
    if (!message.more_targets.empty()) {
      id.number = next_collective++;
      operations_.push_back(id);
      continue;
    }
    id.source = static_cast<std::uint16_t>(message.source.value());
    id.target = static_cast<std::uint16_t>(message.target.value());
    id.number = numbers[{message.source, message.target}]++;
    operations_.push_back(id);
  }
}

void FuzzRun::enqueue_messages() {
  for (std::size_t i = 0; i < case_.messages.size(); ++i) {
    const FuzzMessage& message = case_.messages[i];
    if (!message.more_targets.empty()) {
      add_multicast(i);
      continue;
    }
    add({message.source, message.source_stream}, i, Side::kSend, message.joins_at_source);
    add({message.target, message.target_stream}, i, Side::kReceive, message.joins_at_target);
  }
  while (!open_.empty()) flush(open_.begin()->first);
}

void FuzzRun::add_multicast(std::size_t index) {
  const FuzzMessage& message = case_.messages[index];
  for (int i = 0; i < case_.topology.rank_count(); ++i) {
    const Rank rank(i);
    const bool receives = rank == message.target || std::ranges::find(message.more_targets, rank) !=
                                                        message.more_targets.end();
    const Side side = rank == message.source ? Side::kSend
                      : receives             ? Side::kReceive
                                             : Side::kNone;
    add({rank, message.source_stream}, index, side, message.joins_at_source);
  }
}

/// Both ends number the messages of a pair in the order of their calls, so a rank has one group
/// open at most.
void FuzzRun::add(StreamKey key, std::size_t message, Side side, bool joins) {
  const auto open = open_.find(key.first);
  if (open != open_.end() && !(joins && open->second->stream == key.second)) flush(key.first);
  std::shared_ptr<Group>& group = open_[key.first];
  if (group == nullptr) group = std::make_shared<Group>();
  group->rank = key.first;
  group->stream = key.second;
  std::vector<BufferHandle>& buffers = buffers_[key];
  if (!case_.reuse_buffers && group->parts.empty()) buffers.clear();
  if (buffers.size() == group->parts.size()) {
    const auto largest = std::ranges::max_element(case_.messages, {}, &FuzzMessage::size);
    buffers.push_back(fabric_.allocate(key.first, largest->size + kMargin + kMargin));
  }
  const Bytes size = side == Side::kNone ? Bytes(0) : case_.messages[message].size;
  const Region region{buffers[group->parts.size()], kMargin, size};
  group->parts.push_back({message, side, region});
}

/// Things that happen on streams between messages. They only wait for what was enqueued before.
void FuzzRun::enqueue_noise(StreamKey key) {
  const auto [rank, stream] = key;
  if (random_.chance(0.2)) fabric_.enqueue_delay(rank, stream, Seconds(1e-4 * random_.uniform()));
  if (random_.chance(0.1)) {
    fabric_.port(rank).enqueue_foreground(stream, true);
    fabric_.enqueue_delay(rank, stream, Seconds(1e-4 * random_.uniform()));
    fabric_.port(rank).enqueue_foreground(stream, false);
  }
  std::vector<EventId>& events = events_[rank];
  if (!events.empty() && random_.chance(0.2)) {
    const auto pick = random_.between(0, std::ssize(events) - 1);
    fabric_.enqueue_wait_event(rank, stream, events[static_cast<std::size_t>(pick)]);
  }
}

void FuzzRun::flush(Rank rank) {
  const std::shared_ptr<Group> group = open_.extract(rank).mapped();
  const StreamId stream = group->stream;
  enqueue_noise({rank, stream});
  fabric_.enqueue_callback(rank, stream, [this, group] { before(*group); });
  Communicator& communicator = job_.communicator(rank);
  communicator.group_begin(stream);
  for (const Part& part : group->parts) {
    const FuzzMessage& message = case_.messages[part.message];
    if (!message.more_targets.empty()) {
      const Region none{part.region.buffer, Bytes(0), Bytes(0)};
      communicator.run(std::make_shared<const Plan>(plan_of(message, case_)),
                       part.side == Side::kSend ? part.region : none,
                       part.side == Side::kReceive ? part.region : none, stream);
    } else if (part.side == Side::kSend) {
      communicator.send(part.region, message.target, stream);
    } else {
      communicator.receive(part.region, message.source, stream);
    }
  }
  group->work = communicator.group_end();
  groups_.push_back(group);
  fabric_.enqueue_callback(rank, stream, [this, group] { after(*group); });
  if (random_.chance(0.3)) events_[rank].push_back(fabric_.enqueue_record_event(rank, stream));
}

void FuzzRun::before(const Group& group) {
  for (const Part& part : group.parts) {
    fabric_.reset_written(part.region.buffer);
    std::ranges::fill(fabric_.bytes(part.region.buffer), kUntouched);
    if (part.side == Side::kSend)
      fill_pattern(fabric_.bytes(part.region), pattern_of(part.message));
  }
}

void FuzzRun::after(const Group& group) {
  const auto status = group.work->status();
  if (!status) {
    complain(
        fmt::format("the stream passed message {} before it ended", group.parts.front().message));
    return;
  }
  for (const Part& part : group.parts) {
    const auto all = fabric_.bytes(part.region.buffer);
    const auto margin = static_cast<std::size_t>(kMargin.count());
    const auto untouched = [](std::byte byte) { return byte == kUntouched; };
    if (!std::ranges::all_of(all.first(margin), untouched) ||
        !std::ranges::all_of(
            all.subspan(margin + static_cast<std::size_t>(part.region.size.count())), untouched)) {
      complain(fmt::format("message {} left its buffer", part.message));
    }
    const auto difference = first_difference(fabric_.bytes(part.region), pattern_of(part.message));
    if (difference && status->ok()) {
      complain(fmt::format("byte {} of message {} is wrong at its {}", *difference, part.message,
                           part.side == Side::kSend ? "source" : "target"));
    }
    std::ranges::fill(all, std::byte{0xee});
  }
}

void FuzzRun::complain(std::string what) {
  if (found_.empty()) found_ = std::move(what);
}

std::string FuzzRun::check_all_ok(RunEnd end) const {
  if (!found_.empty()) return found_;
  if (end != RunEnd::kIdle) {
    return fmt::format("did not end (reason {}) after {} steps", static_cast<int>(end),
                       fabric_.steps());
  }
  for (const auto& group : groups_) {
    const std::size_t first = group->parts.front().message;
    const auto status = group->work->status();
    if (!status) return fmt::format("message {} did not end on rank {}", first, group->rank);
    if (!status->ok()) return fmt::format("message {}: {}", first, to_string(*status));
  }
  if (!fabric_.streams_drained()) return "a stream is stuck";
  if (!job_.quiescent()) return "a proxy is not quiescent";
  return fabric_.unfinished();
}

}  // namespace hoccl::engine
