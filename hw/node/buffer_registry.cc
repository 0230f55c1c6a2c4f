#include "hw/node/buffer_registry.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "engine/base/check.h"
#include "hw/node/node_packet.h"
#include "hw/system/system_error.h"

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
  std::int64_t allocation_size = 0;
};

BufferRegistry::BufferRegistry(Rank rank, std::int32_t first_id, LocalMesh& mesh,
                               Completed completed)
    : rank_(rank), mesh_(mesh), completed_(std::move(completed)), next_id_(first_id) {}

BufferHandle BufferRegistry::add_locked(std::span<std::byte> memory,
                                        std::shared_ptr<Allocation> allocation) {
  if (allocation != nullptr) allocation->buffers += 1;
  const BufferHandle handle{rank_, next_id_++};
  own_[handle.id] = {memory, std::move(allocation), false};
  return handle;
}

BufferHandle BufferRegistry::allocate(Bytes size) {
  const std::scoped_lock lock(mutex_);
  auto allocation = std::make_shared<Allocation>();
  allocation->id = next_allocation_++;
  allocation->memory =
      SharedMemory::create(fmt::format("hoccl-buffer-{}-{}", rank_, allocation->id), size);
  const std::span memory(allocation->memory.data(), static_cast<std::size_t>(size.count()));
  return add_locked(memory, std::move(allocation));
}

BufferHandle BufferRegistry::add(std::span<std::byte> memory) {
  const std::scoped_lock lock(mutex_);
  for (const auto& [id, buffer] : own_) {
    if (buffer.allocation == nullptr) continue;
    const std::byte* begin = buffer.allocation->memory.data();
    const std::byte* end = begin + buffer.allocation->memory.size().count();
    if (memory.data() >= begin && memory.data() + memory.size() <= end) {
      return add_locked(memory, buffer.allocation);
    }
  }
  return add_locked(memory, nullptr);
}

void BufferRegistry::release(BufferHandle buffer) {
  const std::scoped_lock lock(mutex_);
  const auto entry = own_.find(buffer.id);
  HOCCL_CHECK(buffer.owner == rank_ && entry != own_.end(), "buffer {} of rank {} is not there",
              buffer.id, buffer.owner);
  const std::shared_ptr<Allocation> allocation = entry->second.allocation;
  own_.erase(entry);
  if (allocation == nullptr || --allocation->buffers > 0) return;
  Packet packet;
  packet.kind = NodePacketKind::kInvalidate;
  packet.allocation = allocation->id;
  for (const Rank importer : allocation->importers) send(importer, packet);
}

bool BufferRegistry::open(BufferHandle buffer) {
  const std::scoped_lock lock(mutex_);
  OwnBuffer& own = own_.at(buffer.id);
  own.open = own.allocation != nullptr;
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
  if (entry == own_.end() || !entry->second.open) {
    send(importer, reply);
    return;
  }
  const OwnBuffer& buffer = entry->second;
  Allocation& allocation = *buffer.allocation;
  reply.ok = 1;
  reply.allocation = allocation.id;
  reply.offset = buffer.memory.data() - allocation.memory.data();
  reply.size = static_cast<std::int64_t>(buffer.memory.size());
  reply.allocation_size = allocation.memory.size().count();
  allocation.importers.insert(importer);
  const int descriptor = allocation.memory.descriptor();
  send(importer, reply, {&descriptor, 1});
}

void BufferRegistry::imported(Rank owner, const Packet& reply,
                              std::vector<FileDescriptor> descriptors) {
  const BufferHandle buffer{owner, reply.buffer};
  bool ok = false;
  {
    const std::scoped_lock lock(mutex_);
    if (importing_.erase(buffer) == 0) return;  // nobody asked
    SharedMemory& memory = mapped_[{owner, reply.allocation}];
    const bool in_bounds = reply.offset >= 0 && reply.size >= 0 &&
                           reply.offset <= reply.allocation_size &&
                           reply.size <= reply.allocation_size - reply.offset;
    if (reply.ok != 0 && in_bounds && descriptors.size() == 1) {
      try {
        if (!memory) {
          memory =
              SharedMemory::attach(std::move(descriptors.front()), Bytes(reply.allocation_size));
        }
        ok = memory.size() >= Bytes(reply.allocation_size);
      } catch (const SystemError&) {
        ok = false;  // the completion says so
      }
    }
    if (ok) {
      imported_[buffer] = {memory, Bytes(reply.offset), Bytes(reply.size), reply.allocation};
    }
    if (!memory) mapped_.erase({owner, reply.allocation});
  }
  completed_(BufferImported{buffer, ok});
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
    // Copies that are under way keep the memory mapped themselves.
    std::erase_if(mapped_, [&](const auto& entry) { return entry.first.first == peer; });
    std::erase_if(imported_, [&](const auto& entry) { return entry.first.owner == peer; });
  }
  for (const BufferHandle& buffer : refused) completed_(BufferImported{buffer, false});
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
            own.allocation == nullptr ? nullptr : own.allocation->memory.owner()};
  }
  const auto entry = imported_.find(region.buffer);
  HOCCL_CHECK(entry != imported_.end(), "buffer {} of rank {} is not imported by rank {}",
              region.buffer.id, region.buffer.owner, rank_);
  check_inside(entry->second.size);
  return {entry->second.memory.data() + (entry->second.offset + region.offset).count(),
          entry->second.memory.owner()};
}

bool BufferRegistry::idle() const {
  const std::scoped_lock lock(mutex_);
  return importing_.empty();
}

}  // namespace hoccl::hw
