#include "hw/node/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "hw/bootstrap/bootstrap_error.h"
#include "hw/node/node_packet.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {

using engine::PlaceId;
using engine::Rank;
using engine::Region;

/// A segment, or the pool of a place; with one file descriptor.
struct Node::SharePacket {
  NodePacketKind kind = NodePacketKind::kSegment;
  std::int32_t place = -1;
  BlockName frames = {};
};

Node::Node(Bootstrap& bootstrap, const engine::Topology& topology, std::vector<Rank> members,
           const StagingPool::Shape& shape, Device& device, Events events)
    : rank_(bootstrap.rank()),
      members_(std::move(members)),
      events_(std::move(events)),
      segments_(static_cast<std::size_t>(topology.rank_count())),
      staging_(topology, rank_, shape, device),
      messenger_(rank_, segments_),
      buffers_(rank_, StagingService::first_user_buffer(topology), device, mesh_,
               [this](const engine::Completion& completion) {
                 events_.completed(completion);
                 doorbell().ring();
               }),
      mesh_(bootstrap, members_) {
  segments_[rank_.index()] = RankSegment::create(rank_, topology.rank_count());
  segment_pin_ = device.pin(segments_[rank_.index()].bytes());
  share(bootstrap);
}

void Node::share(Bootstrap& bootstrap) {
  mesh_.start([this](LocalMesh::Packet packet) { receive(std::move(packet)); },
              [this](Rank peer, bool died) { peer_lost(peer, died); });
  const auto send = [&](const SharePacket& packet, int descriptor) {
    for (const Rank peer : members_) {
      if (peer == rank_) continue;
      mesh_.send(peer, std::as_bytes(std::span(&packet, 1)), {&descriptor, 1});
    }
  };
  send({NodePacketKind::kSegment, -1, {}}, segments_[rank_.index()].descriptor());
  for (const PlaceId place : staging_.own_places()) {
    send({NodePacketKind::kPool, place.value(), staging_.frames(place)},
         staging_.descriptor(place));
  }
  {
    std::unique_lock lock(mutex_);
    const bool in_time =
        changed_.wait_for(lock, std::chrono::duration<double>(bootstrap.options().timeout.count()),
                          [this] { return complete() || !failure_.empty(); });
    if (!failure_.empty()) throw BootstrapError(failure_);
    if (!in_time) throw BootstrapError("a rank of this host did not share its memory in time");
    shared_ = true;
  }
  bootstrap.barrier();
}

bool Node::complete() const {
  return staging_.complete(members_) && std::ranges::all_of(members_, [this](Rank member) {
           return static_cast<bool>(segments_[member.index()]);
         });
}

bool Node::is_member(Rank rank) const {
  return std::ranges::find(members_, rank) != members_.end();
}

void Node::receive(LocalMesh::Packet packet) {
  if (BufferRegistry::is_for_me(packet)) {
    buffers_.receive(std::move(packet));
    return;
  }
  const Rank source = packet.source;
  std::string wrong;
  try {
    const std::scoped_lock lock(mutex_);
    attach(std::move(packet));
  } catch (const std::runtime_error& error) {  // the system's, or the device's
    wrong = error.what();
  }
  const std::scoped_lock lock(mutex_);
  if (!wrong.empty() && !shared_) failure_ = fmt::format("rank {} shares: {}", source, wrong);
  changed_.notify_all();
}

void Node::attach(LocalMesh::Packet packet) {
  SharePacket share;
  const NodePacketKind kind = node_packet_kind(packet.payload);
  const bool known = kind == NodePacketKind::kSegment || kind == NodePacketKind::kPool;
  if (!known || packet.payload.size() != sizeof(share) || packet.descriptors.size() != 1) {
    throw SystemError("read a packet of another rank", EBADMSG);
  }
  std::memcpy(&share, packet.payload.data(), sizeof(share));
  FileDescriptor descriptor = std::move(packet.descriptors.front());
  if (kind == NodePacketKind::kSegment) {
    RankSegment& segment = segments_[packet.source.index()];
    if (segment) throw SystemError("attach a second segment", EEXIST);
    segment = RankSegment::attach(std::move(descriptor), static_cast<int>(segments_.size()));
    return;
  }
  const PlaceId place(share.place);
  if (!staging_.is_missing(place, packet.source)) {
    throw SystemError(fmt::format("attach the pool of place {}", share.place), EINVAL);
  }
  staging_.attach(place, std::move(descriptor), share.frames);
}

void Node::peer_lost(Rank peer, bool died) {
  {
    const std::scoped_lock lock(mutex_);
    if (!shared_) failure_ = fmt::format("rank {} was lost", peer);
    changed_.notify_all();
  }
  events_.lost(peer, died);
  doorbell().ring();
}

PinnedBytes Node::bytes(const Region& region) {
  if (staging_.is_slot(region.buffer)) return {staging_.bytes(region), nullptr};
  return buffers_.bytes(region);
}

}  // namespace hoccl::hw
