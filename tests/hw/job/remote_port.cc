#include "tests/hw/job/remote_port.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/pipeline/command.h"
#include "tests/hw/job/status_format.h"

namespace hoccl::hw {

using engine::BufferHandle;
using engine::Completion;
using engine::Gate;
using engine::Lane;
using engine::NicId;
using engine::PlaceId;
using engine::QueuePairId;
using engine::Rank;
using engine::Sequence;
using engine::Status;
using engine::StreamId;
using engine::Submitted;
using engine::Ticket;
using engine::WorkId;

namespace {

/// A command stays where it was submitted; its index travels.
void encode(std::string& text, const Completion& completion, RankUnderTest& rank) {
  append(text, completion.index());
  std::visit(
      [&](const auto& body) {
        if constexpr (std::is_same_v<std::decay_t<decltype(body)>, Submitted>) {
          append(text,
                 std::ranges::find(rank.submitted(), body.command) - rank.submitted().begin());
        } else {
          append(text, body);
        }
      },
      completion);
}

/// Reads the alternative of that index.
template <std::size_t kIndex = 0>
Completion take_completion(std::string_view& text, std::size_t index,
                           const std::vector<std::shared_ptr<const engine::Command>>& submitted) {
  if constexpr (kIndex < std::variant_size_v<Completion>) {
    if (index != kIndex) return take_completion<kIndex + 1>(text, index, submitted);
    using Body = std::variant_alternative_t<kIndex, Completion>;
    if constexpr (std::is_same_v<Body, Submitted>) {
      return Submitted{submitted.at(static_cast<std::size_t>(take<std::ptrdiff_t>(text)))};
    } else {
      return take<Body>(text);
    }
  } else {
    HOCCL_CHECK(false, "completion of kind {}", index);
  }
}

}  // namespace

engine::Seconds RemotePort::now() const {
  return ranks_.call(rank_, [](RankUnderTest& rank) { return rank.port().now(); });
}

Ticket RemotePort::post_copy(Lane lane, const engine::CopyRequest& request) {
  return ranks_.call(rank_,
                     [=](RankUnderTest& rank) { return rank.port().post_copy(lane, request); });
}

void RemotePort::flush() {
  ranks_.call(rank_, [](RankUnderTest& rank) { rank.port().flush(); });
}

Ticket RemotePort::post_write(QueuePairId queue_pair, const engine::WriteRequest& request) {
  return ranks_.call(
      rank_, [=](RankUnderTest& rank) { return rank.port().post_write(queue_pair, request); });
}

void RemotePort::post_message(Rank target, const engine::Message& message) {
  ranks_.call(rank_, [=](RankUnderTest& rank) { rank.port().post_message(target, message); });
}

QueuePairId RemotePort::queue_pair(NicId local, NicId remote, Rank peer, int index) {
  return ranks_.call(rank_, [=](RankUnderTest& rank) {
    return rank.port().queue_pair(local, remote, peer, index);
  });
}

const engine::StagingPlace& RemotePort::staging(PlaceId place) const {
  const auto known = places_.find(place);
  if (known != places_.end()) return known->second;
  const auto get = [place](RankUnderTest& rank) { return rank.port().staging(place); };
  return places_.emplace(place, ranks_.call(rank_, get)).first->second;
}

void RemotePort::export_buffer(BufferHandle buffer) {
  ranks_.call(rank_, [buffer](RankUnderTest& rank) { rank.port().export_buffer(buffer); });
}

void RemotePort::register_buffer(BufferHandle buffer) {
  ranks_.call(rank_, [buffer](RankUnderTest& rank) { rank.port().register_buffer(buffer); });
}

void RemotePort::import_buffer(BufferHandle buffer) {
  ranks_.call(rank_, [buffer](RankUnderTest& rank) { rank.port().import_buffer(buffer); });
}

void RemotePort::open_gate(Gate gate, Sequence sequence) {
  ranks_.call(rank_, [=](RankUnderTest& rank) { rank.port().open_gate(gate, sequence); });
}

void RemotePort::finish(WorkId work, const Status& status) {
  const auto finish = [work](RankUnderTest& rank, std::string_view payload) {
    rank.port().finish(work, decode_status(payload).value());
  };
  ranks_.call(rank_, finish, hw::encode(status));
}

std::size_t RemotePort::poll(std::span<Completion> out) {
  const std::string text = ranks_.call(rank_, [wanted = out.size()](RankUnderTest& rank) {
    std::vector<Completion> completions(wanted);
    completions.resize(rank.port().poll(completions));
    std::string result;
    for (const Completion& completion : completions) encode(result, completion, rank);
    return result;
  });
  std::string_view rest = text;
  std::size_t count = 0;
  for (; !rest.empty(); ++count) {
    const auto index = take<std::size_t>(rest);
    out[count] = take_completion(rest, index, submitted_);
  }
  return count;
}

void RemotePort::account(engine::CpuWork work, std::int64_t count) {
  ranks_.call(rank_, [=](RankUnderTest& rank) { rank.port().account(work, count); });
}

void RemotePort::report_copies(engine::GpuId gpu, engine::LinkSide side, int under_way) {
  ranks_.call(rank_, [=](RankUnderTest& rank) { rank.port().report_copies(gpu, side, under_way); });
}

int RemotePort::copies_under_way(engine::GpuId gpu, engine::LinkSide side) const {
  return ranks_.call(rank_,
                     [=](RankUnderTest& rank) { return rank.port().copies_under_way(gpu, side); });
}

void RemotePort::enqueue_ready(Gate gate, Sequence sequence) {
  ranks_.call(rank_, [=](RankUnderTest& rank) { rank.port().enqueue_ready(gate, sequence); });
}

void RemotePort::enqueue_wait(Gate gate, Sequence sequence) {
  ranks_.call(rank_, [=](RankUnderTest& rank) { rank.port().enqueue_wait(gate, sequence); });
}

void RemotePort::enqueue_foreground(StreamId stream, bool active) {
  ranks_.call(rank_, [=](RankUnderTest& rank) { rank.port().enqueue_foreground(stream, active); });
}

void RemotePort::submit(std::shared_ptr<const engine::Command> command) {
  const auto* group = std::get_if<engine::SubmitGroup>(&command->body);
  HOCCL_CHECK(group != nullptr && group->operations.empty(), "a command that is not empty");
  submitted_.push_back(std::move(command));
  ranks_.call(rank_, [](RankUnderTest& rank) {
    rank.submitted().push_back(std::make_shared<const engine::Command>());
    rank.port().submit(rank.submitted().back());
  });
}

std::optional<Status> RemotePort::query(WorkId work) const {
  return decode_status(ranks_.call(
      rank_, [work](RankUnderTest& rank) { return hw::encode(rank.port().query(work)); }));
}

}  // namespace hoccl::hw
