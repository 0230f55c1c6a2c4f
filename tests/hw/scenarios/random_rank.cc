#include "tests/hw/scenarios/random_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/hw/job/lost_rank.h"
#include "tests/support/byte_pattern.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::FuzzMessage;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::SendRecvRequest;
using engine::Status;
using engine::StreamId;

namespace {

/// Bytes around a message in its buffer that nobody may touch; odd, so that nothing is aligned.
constexpr Bytes kMargin(21);
constexpr std::byte kUntouched{0x5a};
constexpr std::byte kScribble{0xee};

std::uint64_t pattern_of(std::size_t message) { return 1000 + message; }

bool is_multicast(const FuzzMessage& message) { return !message.more_targets.empty(); }

}  // namespace

RandomRank::RandomRank(const RandomJob& job, RankUnderTest& rank)
    : job_(job), rank_(rank), random_(job.seed ^ (0x9e37ULL + rank.fabric().rank().index())) {
  const Rank self = rank.fabric().rank();
  for (std::size_t i = 0; i < job.messages.size(); ++i) {
    const FuzzMessage& message = job.messages[i];
    if (message.source == self) {
      add(i, Side::kSend);
    } else if (receives(message, self)) {
      add(i, Side::kReceive);
    } else if (is_multicast(message)) {
      add(i, Side::kBystander);
    }
  }
}

void RandomRank::add(std::size_t message, Side side) {
  const FuzzMessage& what = job_.messages[message];
  const bool multicast = is_multicast(what);
  const StreamId stream =
      multicast || side == Side::kSend ? what.source_stream : what.target_stream;
  const bool wants_to = side == Side::kSend ? what.joins_at_source : what.joins_at_target;
  const bool joins = wants_to && !multicast && !groups_.empty() &&
                     groups_.back().stream == stream &&
                     !is_multicast(message_of(groups_.back().parts.front()));
  if (!joins) groups_.push_back({stream, {}, {}});
  const Bytes size = side == Side::kBystander ? Bytes(0) : what.size;
  Part part;
  part.message = message;
  part.side = side;
  part.buffer = rank_.fabric().allocate(size + kMargin + kMargin);
  part.region = {part.buffer, kMargin, size};
  groups_.back().parts.push_back(part);
}

std::string RandomRank::play(const RandomJob& job, RankUnderTest& rank, Seconds patience) {
  // Shared with the streams: if something hangs, they outlive this call.
  const std::shared_ptr<RandomRank> self(new RandomRank(job, rank));
  std::set<StreamId> streams;
  for (std::size_t i = 0; i < self->groups_.size(); ++i) {
    enqueue(self, i);
    streams.insert(self->groups_[i].stream);
  }
  if (!rank.await_works(patience)) {
    for (const Group& group : self->groups_) {
      if (group.work->status()) continue;
      return fmt::format("message {} does not end on rank {}", group.parts.front().message,
                         rank.fabric().rank());
    }
  }
  for (const StreamId stream : streams) rank.fabric().synchronize(stream);
  return self->found();
}

/// Things that happen on streams between messages.
void RandomRank::enqueue_noise(StreamId stream) {
  const auto sleep = [this, stream] {
    const Seconds time(2e-3 * random_.uniform());
    rank_.fabric().enqueue_callback(stream, [time] { std::this_thread::sleep_for(time); });
  };
  if (random_.chance(0.2)) sleep();
  if (!random_.chance(0.1)) return;
  rank_.port().enqueue_foreground(stream, true);
  sleep();
  rank_.port().enqueue_foreground(stream, false);
}

std::shared_ptr<engine::Work> RandomRank::submit(const Group& group) {
  engine::Communicator& communicator = rank_.communicator(0);
  const Part& first = group.parts.front();
  if (is_multicast(message_of(first))) {
    const Region none{first.buffer, Bytes(0), Bytes(0)};
    return communicator.run(std::make_shared<const engine::Plan>(plan_of(job_, message_of(first))),
                            first.side == Side::kSend ? first.region : none,
                            first.side == Side::kReceive ? first.region : none, group.stream);
  }
  std::vector<SendRecvRequest> requests;
  for (const Part& part : group.parts) {
    const bool sends = part.side == Side::kSend;
    requests.push_back({sends ? SendRecvRequest::Side::kSend : SendRecvRequest::Side::kReceive,
                        sends ? message_of(part).target : message_of(part).source, part.region});
  }
  return communicator.enqueue(requests, group.stream);
}

void RandomRank::enqueue(const std::shared_ptr<RandomRank>& self, std::size_t group) {
  Group& here = self->groups_[group];
  HwFabric& fabric = self->rank_.fabric();
  self->enqueue_noise(here.stream);
  fabric.enqueue_callback(here.stream, [self, &here] { self->before(here); });
  here.work = self->submit(here);
  self->rank_.remember(here.work);
  fabric.enqueue_callback(here.stream, [self, &here] { self->after(here); });
}

std::span<std::byte> RandomRank::all_bytes(const Part& part) {
  return rank_.fabric().bytes({part.buffer, Bytes(0), part.region.size + kMargin + kMargin});
}

void RandomRank::before(const Group& group) {
  for (const Part& part : group.parts) {
    std::ranges::fill(all_bytes(part), kUntouched);
    if (part.side == Side::kSend) {
      engine::fill_pattern(rank_.fabric().bytes(part.region), pattern_of(part.message));
    }
  }
}

void RandomRank::after(const Group& group) {
  const std::optional<Status> status = group.work->status();
  if (!status) {
    complain(
        fmt::format("the stream passed message {} before it ended", group.parts.front().message));
    return;
  }
  check_status(group, *status);
  for (const Part& part : group.parts) {
    if (status->ok()) check_bytes(part);
    std::ranges::fill(all_bytes(part), kScribble);
  }
}

/// Only what needed the dead rank may fail, and its status says so.
void RandomRank::check_status(const Group& group, const Status& status) {
  if (status.ok()) return;
  const auto& death = job_.death;
  const bool may_fail = death && std::ranges::any_of(group.parts, [&](const Part& part) {
                          return needs(job_, message_of(part), death->victim);
                        });
  const bool says_so = death && names(status, death->victim);
  if (may_fail && says_so) return;
  complain(fmt::format("message {} on rank {}: {}", group.parts.front().message,
                       rank_.fabric().rank(), to_string(status)));
}

void RandomRank::check_bytes(const Part& part) {
  const auto all = all_bytes(part);
  const auto margin = static_cast<std::size_t>(kMargin.count());
  const auto untouched = [](std::byte byte) { return byte == kUntouched; };
  if (!std::ranges::all_of(all.first(margin), untouched) ||
      !std::ranges::all_of(all.last(margin), untouched)) {
    complain(fmt::format("message {} left its buffer", part.message));
  }
  const auto difference =
      engine::first_difference(rank_.fabric().bytes(part.region), pattern_of(part.message));
  if (difference) {
    complain(fmt::format("byte {} of message {} is wrong at its {}", *difference, part.message,
                         part.side == Side::kSend ? "source" : "target"));
  }
}

void RandomRank::complain(std::string what) {
  const std::scoped_lock lock(mutex_);
  if (found_.empty()) found_ = std::move(what);
}

std::string RandomRank::found() {
  const std::scoped_lock lock(mutex_);
  return found_;
}

}  // namespace hoccl::hw
