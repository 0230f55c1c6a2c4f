#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/fabric.h"
#include "hw/device/device.h"
#include "hw/node/local_mesh.h"

namespace hoccl::hw {

/// User buffers: names parts of this process's memory, hands them to other ranks of the node and
/// maps theirs. What is exchanged is the whole allocation, once, and buffers are parts of it (as
/// CUDA IPC demands: a handle names an allocation and may be opened once per process). A handle is
/// never used for a second buffer, so a cached mapping can never show something else; and when the
/// application has freed memory under its buffers and got the same address again, the importers of
/// the old allocation drop it.
class BufferRegistry {
 public:
  using Completed = std::function<void(const engine::Completion&)>;

  /// `first_id`: the first handle of its own. `completed` receives BufferExported,
  /// BufferRegistered and BufferImported, from any thread.
  BufferRegistry(engine::Rank rank, std::int32_t first_id, Device& device, LocalMesh& mesh,
                 Completed completed);

  engine::BufferHandle allocate(engine::Bytes size);
  engine::BufferHandle add(std::span<std::byte> memory);
  void release(engine::BufferHandle buffer);

  void export_buffer(engine::BufferHandle buffer);
  /// For NICs of this host: they map what they write, as other ranks do.
  void register_buffer(engine::BufferHandle buffer);
  void import_buffer(engine::BufferHandle buffer);
  /// Of an own or an imported buffer.
  [[nodiscard]] PinnedBytes bytes(const engine::Region& region);
  /// The memory of an own buffer, and of the whole allocation that it is part of: itself where
  /// nothing is known of that.
  struct Segment {
    std::span<std::byte> buffer;
    std::span<std::byte> whole;
    std::uint64_t identity = 0;          ///< differs where another had the same address before
    std::shared_ptr<MemoryBlock> block;  ///< keeps it; null where nothing is known
  };
  /// Nothing: it has been released.
  [[nodiscard]] std::optional<Segment> segment(engine::BufferHandle buffer) const;

  /// A packet of another rank's registry, on the mesh's thread.
  void receive(LocalMesh::Packet packet);
  /// Refuses its imports and drops its memory. After the proxy has been told of the loss.
  void peer_lost(engine::Rank peer);
  /// No import is to come or on its way to `completed`.
  [[nodiscard]] bool idle() const;

  /// Whether a packet is for this registry.
  static bool is_for_me(const LocalMesh::Packet& packet);

 private:
  struct Allocation {
    std::uint32_t id = 0;
    std::shared_ptr<MemoryBlock> block;
    std::size_t buffers = 0;
    bool is_gone = false;  ///< the application has freed it under its buffers
    std::set<engine::Rank> importers;
  };
  struct OwnBuffer {
    std::span<std::byte> memory;
    std::shared_ptr<Allocation> allocation;  ///< null: memory that nobody else can map
    bool open = false;                       ///< exported or registered
  };
  struct Imported {
    std::shared_ptr<MemoryBlock> block;
    engine::Bytes offset;
    engine::Bytes size;
    std::uint32_t allocation = 0;
  };
  using AllocationKey = std::pair<engine::Rank, std::uint32_t>;
  struct Packet;

  /// False when others cannot map it.
  bool open(engine::BufferHandle buffer);
  engine::BufferHandle add_locked(std::span<std::byte> memory,
                                  std::shared_ptr<Allocation> allocation);
  std::shared_ptr<Allocation> allocation_around(std::span<std::byte> memory);
  std::shared_ptr<Allocation> new_allocation(std::shared_ptr<MemoryBlock> block);
  void tell_importers(const Allocation& allocation);
  void answer(engine::Rank importer, const Packet& request);
  void imported(engine::Rank owner, const Packet& reply, std::vector<FileDescriptor> descriptors);
  /// Of imports that were counted in telling_.
  void tell_imported(std::span<const engine::BufferHandle> buffers, bool ok);
  void invalidate(engine::Rank owner, std::uint32_t allocation);
  void send(engine::Rank peer, const Packet& packet, std::span<const int> descriptors = {});

  const engine::Rank rank_;
  Device& device_;
  LocalMesh& mesh_;
  const Completed completed_;
  mutable std::mutex mutex_;
  std::int32_t next_id_;
  std::uint32_t next_allocation_ = 1;
  std::map<std::int32_t, OwnBuffer> own_;
  std::map<engine::BufferHandle, Imported> imported_;
  std::map<AllocationKey, std::shared_ptr<MemoryBlock>> mapped_;
  std::set<engine::BufferHandle> importing_;
  std::size_t telling_ = 0;  ///< no longer importing, but `completed` has not returned
  std::set<engine::Rank> lost_;
};

}  // namespace hoccl::hw
