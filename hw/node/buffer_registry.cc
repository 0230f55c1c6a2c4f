#include "hw/node/buffer_registry.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "hw/node/node_packet.h"

namespace hoccl::hw {

using engine::BufferExported;
using engine::BufferHandle;
using engine::BufferImported;
using engine::BufferRegistered;
using engine::Bytes;
using engine::Rank;
using engine::Region;

/// All three packets of the exchange.
struct BufferRegistry::Packet {
  NodePacketKind kind = NodePacketKind::kImportRequest;
  std::int32_t buffer = -1;
  std::uint32_t allocation = 0;
  std::uint32_t ok = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;
  BlockName block = {};
};

BufferRegistry::BufferRegistry(Rank rank, std::int32_t first_id, Device& device, LocalMesh& mesh,
                               Completed completed)
    : rank_(rank),
      device_(device),
      mesh_(mesh),
      completed_(std::move(completed)),
      next_id_(first_id) {}

BufferHandle BufferRegistry::add_locked(std::span<std::byte> memory,
                                        std::shared_ptr<Allocation> allocation) {
  if (allocation != nullptr) allocation->buffers += 1;
  const BufferHandle handle{rank_, next_id_++};
  own_[handle.id] = {memory, std::move(allocation), false};
  return handle;
}

BufferHandle BufferRegistry::allocate(Bytes size) {
  const std::scoped_lock lock(mutex_);
  const auto allocation = new_allocation(
      device_.allocate(fmt::format("hoccl-buffer-{}-{}", rank_, next_allocation_), size));
  const std::span memory(allocation->block->data(), static_cast<std::size_t>(size.count()));
  return add_locked(memory, allocation);
}

auto BufferRegistry::new_allocation(std::shared_ptr<MemoryBlock> block)
    -> std::shared_ptr<Allocation> {
  auto allocation = std::make_shared<Allocation>();
  allocation->id = next_allocation_++;
  allocation->block = std::move(block);
  return allocation;
}

BufferHandle BufferRegistry::add(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  return add_locked(memory, allocation_around(memory));
}

/// Null: none that others can map.
auto BufferRegistry::allocation_around(std::span<std::byte> memory) -> std::shared_ptr<Allocation> {
  const std::shared_ptr<MemoryBlock> found = device_.find(memory);
  for (const auto& [id, buffer] : own_) {
    const std::shared_ptr<Allocation>& known = buffer.allocation;
    if (known == nullptr || known->is_gone) continue;
    const std::byte* begin = known->block->data();
    const std::byte* end = begin + known->block->size().count();
    if (memory.data() < begin || memory.data() + memory.size() > end) continue;
    if (found == nullptr || found->identity() == known->block->identity()) return known;
    // Freed, and something else has its address now.
    known->is_gone = true;
    tell_importers(*known);
  }
  return found == nullptr ? nullptr : new_allocation(found);
}

void BufferRegistry::release(BufferHandle buffer) {
  const std::scoped_lock lock(mutex_);
  const auto entry = own_.find(buffer.id);
  HOCCL_CHECK(buffer.owner == rank_ && entry != own_.end(), "buffer {} of rank {} is not there",
              buffer.id, buffer.owner);
  const std::shared_ptr<Allocation> allocation = entry->second.allocation;
  own_.erase(entry);
  if (allocation != nullptr && --allocation->buffers == 0) tell_importers(*allocation);
}

void BufferRegistry::tell_importers(const Allocation& allocation) {
  Packet packet;
  packet.kind = NodePacketKind::kInvalidate;
  packet.allocation = allocation.id;
  for (const Rank importer : allocation.importers) send(importer, packet);
}

bool BufferRegistry::open(BufferHandle buffer) {
  const std::scoped_lock lock(mutex_);
  OwnBuffer& own = own_.at(buffer.id);
  own.open = own.allocation != nullptr && !own.allocation->is_gone &&
             own.allocation->block->name().kind != BlockName::Kind::kNone;
  return own.open;
}

void BufferRegistry::export_buffer(BufferHandle buffer) {
  completed_(BufferExported{buffer, open(buffer)});
}

void BufferRegistry::register_buffer(BufferHandle buffer) {
  completed_(BufferRegistered{buffer, open(buffer)});
}

void BufferRegistry::import_buffer(BufferHandle buffer) {
  bool ok = false;
  {
    const std::scoped_lock lock(mutex_);
    ok = imported_.contains(buffer);
    if (!ok && !lost_.contains(buffer.owner)) {
      importing_.insert(buffer);
      Packet request;
      request.buffer = buffer.id;
      send(buffer.owner, request);
      return;
    }
  }
  completed_(BufferImported{buffer, ok});
}

void BufferRegistry::send(Rank peer, const Packet& packet, std::span<const int> descriptors) {
  mesh_.send(peer, std::as_bytes(std::span(&packet, 1)), descriptors);
}

bool BufferRegistry::is_for_me(const LocalMesh::Packet& packet) {
  if (packet.payload.size() != sizeof(Packet)) return false;
  switch (node_packet_kind(packet.payload)) {
    case NodePacketKind::kImportRequest:
    case NodePacketKind::kImportReply:
    case NodePacketKind::kInvalidate:
      return true;
    case NodePacketKind::kSegment:
    case NodePacketKind::kPool:
      return false;
  }
  return false;
}

void BufferRegistry::receive(LocalMesh::Packet received) {
  Packet packet;
  std::memcpy(&packet, received.payload.data(), sizeof(Packet));
  if (packet.kind == NodePacketKind::kImportRequest) {
    answer(received.source, packet);
  } else if (packet.kind == NodePacketKind::kImportReply) {
    imported(received.source, packet, std::move(received.descriptors));
  } else {
    invalidate(received.source, packet.allocation);
  }
}

void BufferRegistry::answer(Rank importer, const Packet& request) {
  const std::scoped_lock lock(mutex_);
  Packet reply;
  reply.kind = NodePacketKind::kImportReply;
  reply.buffer = request.buffer;
  const auto entry = own_.find(request.buffer);
  if (entry == own_.end() || !entry->second.open || entry->second.allocation->is_gone) {
    send(importer, reply);
    return;
  }
  const OwnBuffer& buffer = entry->second;
  Allocation& allocation = *buffer.allocation;
  reply.ok = 1;
  reply.allocation = allocation.id;
  reply.offset = buffer.memory.data() - allocation.block->data();
  reply.size = static_cast<std::int64_t>(buffer.memory.size());
  reply.block = allocation.block->name();
  allocation.importers.insert(importer);
  const int descriptor = allocation.block->descriptor();
  send(importer, reply, {&descriptor, descriptor < 0 ? std::size_t{0} : std::size_t{1}});
}

void BufferRegistry::imported(Rank owner, const Packet& reply,
                              std::vector<FileDescriptor> descriptors) {
  const BufferHandle buffer{owner, reply.buffer};
  bool ok = false;
  {
    const std::scoped_lock lock(mutex_);
    if (importing_.erase(buffer) == 0) return;  // nobody asked
    telling_ += 1;
    std::shared_ptr<MemoryBlock>& block = mapped_[{owner, reply.allocation}];
    const std::int64_t allocated = reply.block.size_bytes;
    const bool in_bounds = reply.offset >= 0 && reply.size >= 0 && reply.offset <= allocated &&
                           reply.size <= allocated - reply.offset;
    if (reply.ok != 0 && in_bounds && descriptors.size() <= 1) {
      if (block == nullptr) {
        block = device_.attach(
            reply.block, descriptors.empty() ? FileDescriptor() : std::move(descriptors.front()));
      }
      ok = block != nullptr && block->size() >= Bytes(allocated);
    }
    if (ok) imported_[buffer] = {block, Bytes(reply.offset), Bytes(reply.size), reply.allocation};
    if (block == nullptr) mapped_.erase({owner, reply.allocation});
  }
  tell_imported({&buffer, 1}, ok);
}

void BufferRegistry::tell_imported(std::span<const BufferHandle> buffers, bool ok) {
  for (const BufferHandle& buffer : buffers) completed_(BufferImported{buffer, ok});
  const std::scoped_lock lock(mutex_);
  telling_ -= buffers.size();
}

/// Copies that are under way keep the memory mapped themselves.
void BufferRegistry::invalidate(Rank owner, std::uint32_t allocation) {
  const std::scoped_lock lock(mutex_);
  mapped_.erase({owner, allocation});
  std::erase_if(imported_, [&](const auto& entry) {
    return entry.first.owner == owner && entry.second.allocation == allocation;
  });
}

void BufferRegistry::peer_lost(Rank peer) {
  std::vector<BufferHandle> refused;
  {
    const std::scoped_lock lock(mutex_);
    lost_.insert(peer);
    for (const BufferHandle& buffer : importing_) {
      if (buffer.owner == peer) refused.push_back(buffer);
    }
    for (const BufferHandle& buffer : refused) importing_.erase(buffer);
    telling_ += refused.size();
    // Copies that are under way keep the memory mapped themselves.
    std::erase_if(mapped_, [&](const auto& entry) { return entry.first.first == peer; });
    std::erase_if(imported_, [&](const auto& entry) { return entry.first.owner == peer; });
  }
  tell_imported(refused, false);
}

PinnedBytes BufferRegistry::bytes(const Region& region) {
  const std::scoped_lock lock(mutex_);
  const auto check_inside = [&](Bytes size) {
    HOCCL_CHECK(region.offset + region.size <= size, "{} bytes at {} leave buffer {} of rank {}",
                region.size.count(), region.offset.count(), region.buffer.id, region.buffer.owner);
  };
  if (region.buffer.owner == rank_) {
    const OwnBuffer& own = own_.at(region.buffer.id);
    check_inside(Bytes(own.memory.size()));
    return {own.memory.data() + region.offset.count(),
            own.allocation == nullptr ? nullptr : own.allocation->block};
  }
  const auto entry = imported_.find(region.buffer);
  HOCCL_CHECK(entry != imported_.end(), "buffer {} of rank {} is not imported by rank {}",
              region.buffer.id, region.buffer.owner, rank_);
  check_inside(entry->second.size);
  return {entry->second.block->data() + (entry->second.offset + region.offset).count(),
          entry->second.block};
}

auto BufferRegistry::segment(BufferHandle buffer) const -> std::optional<Segment> {
  const std::scoped_lock lock(mutex_);
  const auto entry = own_.find(buffer.id);
  if (entry == own_.end()) return std::nullopt;
  const OwnBuffer& own = entry->second;
  if (own.allocation == nullptr) return Segment{own.memory, own.memory, 0, nullptr};
  const std::shared_ptr<MemoryBlock>& block = own.allocation->block;
  return Segment{own.memory,
                 {block->data(), static_cast<std::size_t>(block->size().count())},
                 block->identity(),
                 block};
}

bool BufferRegistry::idle() const {
  const std::scoped_lock lock(mutex_);
  return importing_.empty() && telling_ == 0;
}

}  // namespace hoccl::hw
