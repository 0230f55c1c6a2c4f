#include "hw/node/mesh_peer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <utility>

#include "hw/node/mesh_process.h"
#include "hw/system/system_error.h"
#include "hw/system/warning.h"

namespace hoccl::hw {

namespace {

/// From one peer, before the others have their turn.
constexpr int kPacketsAtOnce = 32;

std::vector<int> numbers_of(const std::vector<FileDescriptor>& descriptors) {
  std::vector<int> numbers;
  numbers.reserve(descriptors.size());
  for (const FileDescriptor& descriptor : descriptors) numbers.push_back(descriptor.get());
  return numbers;
}

/// All of them, or none when this process may have no more open files.
std::vector<FileDescriptor> duplicates_of(std::span<const int> numbers) {
  std::vector<FileDescriptor> duplicates;
  for (const int number : numbers) {
    if (!duplicates.emplace_back(::fcntl(number, F_DUPFD_CLOEXEC, 0))) return {};
  }
  return duplicates;
}

}  // namespace

MeshPeer::MeshPeer(engine::Rank self, engine::Rank rank, MeshLink link)
    : self_(self),
      rank_(rank),
      process_(std::move(link.process)),
      socket_(std::move(link.socket)) {}

bool MeshPeer::send(MeshPacketKind kind, std::span<const std::byte> payload,
                    std::span<const int> descriptors) {
  const std::lock_guard lock(mutex_);
  if (!socket_ || !fault_.empty()) return true;
  if (queue_.empty() && is_sent(kind, payload, descriptors)) return true;
  queue_.push_back({.kind = kind,
                    .payload = {payload.begin(), payload.end()},
                    .descriptors = duplicates_of(descriptors)});
  return false;
}

bool MeshPeer::is_sent(MeshPacketKind kind, std::span<const std::byte> payload,
                       std::span<const int> descriptors) {
  try {
    const MeshSend result = send_mesh_packet(socket_, kind, payload, descriptors);
    is_starved_ = result == MeshSend::kStarved;
    return result == MeshSend::kSent || result == MeshSend::kGone;
  } catch (const SystemError& error) {
    fault_ = error.what();
    return false;
  }
}

bool MeshPeer::kill() const { return process_ && kill_process(process_); }

MeshPeer::Watched MeshPeer::watched() const {
  const std::lock_guard lock(mutex_);
  const bool can_send = !queue_.empty() && !is_starved_;
  const int events = can_send ? POLLIN | POLLOUT : POLLIN;
  return {pollfd{.fd = fault_.empty() ? socket_.get() : -1,
                 .events = static_cast<short>(events),
                 .revents = 0},
          pollfd{.fd = socket_ ? process_.get() : -1, .events = POLLIN, .revents = 0}};
}

bool MeshPeer::all_sent() const {
  const std::lock_guard lock(mutex_);
  return queue_.empty() || !fault_.empty();
}

bool MeshPeer::starved() const {
  const std::lock_guard lock(mutex_);
  return is_starved_ && !queue_.empty();
}

void MeshPeer::serve(const Watched& happened, const OnPacket& on_packet, const OnLost& on_lost) {
  if (!socket_) return;
  const bool has_ended = happened[1].revents != 0;
  if ((happened[0].revents & POLLOUT) != 0 || starved()) flush();
  if (has_ended || (happened[0].revents & ~POLLOUT) != 0) receive(has_ended, on_packet, on_lost);
  if (socket_ && !fault().empty()) expel(has_ended, on_lost);
}

void MeshPeer::flush() {
  const std::lock_guard lock(mutex_);
  while (!queue_.empty()) {
    const Outgoing& next = queue_.front();
    if (!is_sent(next.kind, next.payload, numbers_of(next.descriptors))) return;
    queue_.pop_front();
  }
}

void MeshPeer::receive(bool has_ended, const OnPacket& on_packet, const OnLost& on_lost) {
  MeshPacketBuffer buffer;
  for (int count = 0; count < kPacketsAtOnce && fault().empty(); ++count) {
    switch (receive_one(buffer)) {
      case MeshReceive::kNothing:
        // A child that it forked may keep its sockets open.
        if (has_ended) lose(on_lost);
        return;
      case MeshReceive::kEnd:
        lose(on_lost);
        return;
      case MeshReceive::kPacket:
        break;
    }
    if (buffer.kind == MeshPacketKind::kGoodbye) {
      has_said_goodbye_ = true;
    } else {
      on_packet(LocalMesh::Packet{.source = rank_,
                                  .payload = std::span(buffer.bytes).first(buffer.size),
                                  .descriptors = std::move(buffer.descriptors)});
    }
  }
}

MeshReceive MeshPeer::receive_one(MeshPacketBuffer& buffer) {
  try {
    // Only this thread closes the socket, so it needs no lock to read.
    return receive_mesh_packet(socket_, buffer);
  } catch (const SystemError& error) {
    const std::lock_guard lock(mutex_);
    fault_ = error.what();
    return MeshReceive::kNothing;
  }
}

void MeshPeer::expel(bool has_ended, const OnLost& on_lost) {
  if (has_ended) {
    lose(on_lost);
  } else if (!is_being_killed_) {
    is_being_killed_ = kill();
    warn(fmt::format("hoccl: rank {}: {} rank {}: {}\n", self_,
                     is_being_killed_ ? "has killed" : "listens no more to", rank_, fault()));
    if (!is_being_killed_) lose(on_lost);
  }
}

void MeshPeer::lose(const OnLost& on_lost) {
  {
    const std::lock_guard lock(mutex_);
    socket_.reset();
    queue_.clear();
  }
  on_lost(rank_, !has_said_goodbye_);
}

std::string MeshPeer::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

}  // namespace hoccl::hw
