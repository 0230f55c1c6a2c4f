#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/fabric.h"
#include "engine/topology/topology.h"
#include "hw/node/staging_pool.h"

namespace hoccl::hw {

/// The staging pools of all places, as one rank sees them; it maps those of its own host. A pool
/// belongs to the place, not to a communicator: any rank can stage through it, and its host relays
/// also for communicators it is not in.
class StagingService {
 public:
  /// Creates the pools of the places that `rank` hosts.
  StagingService(const engine::Topology& topology, engine::Rank rank,
                 const StagingPool::Shape& shape, Device& device);

  /// The places that this rank hosts.
  [[nodiscard]] const std::vector<engine::PlaceId>& own_places() const { return own_; }
  [[nodiscard]] int descriptor(engine::PlaceId place) const;
  /// Their name when they are not behind the descriptor.
  [[nodiscard]] BlockName frames(engine::PlaceId place) const;
  void attach(engine::PlaceId place, FileDescriptor descriptor, const BlockName& frames);
  /// `host` hosts the place and its pool is not attached yet.
  [[nodiscard]] bool is_missing(engine::PlaceId place, engine::Rank host) const;
  /// All places that these ranks host are attached.
  [[nodiscard]] bool complete(std::span<const engine::Rank> hosts) const;

  [[nodiscard]] const engine::StagingPlace& place(engine::PlaceId place) const;
  [[nodiscard]] bool is_slot(engine::BufferHandle buffer) const;
  /// Where the bytes of a region of slots are now. It lies within one slot.
  [[nodiscard]] std::byte* bytes(const engine::Region& region) const;
  /// All send slots, or receive slots, of a place that this rank hosts. Only where slots never
  /// exchange their frames.
  [[nodiscard]] std::span<std::byte> slot_memory(engine::PlaceId place, bool receive) const {
    return pools_.at(place.index()).slot_memory(receive);
  }
  [[nodiscard]] bool is_on_gpu(engine::PlaceId place) const {
    return pools_.at(place.index()).is_on_gpu();
  }
  /// Where in that memory a region of slots is, of any place.
  [[nodiscard]] engine::PlaceId place_of(const engine::Region& region) const {
    return locate(region).place;
  }
  [[nodiscard]] std::size_t offset_in_slot_memory(const engine::Region& region) const;
  /// The slots exchange their frames: what a write on the map link is. Both are the caller's.
  void exchange(const engine::Region& one, const engine::Region& other);

  /// The first handle that is free for user buffers of any rank.
  [[nodiscard]] static std::int32_t first_user_buffer(const engine::Topology& topology);

 private:
  struct Located {
    engine::PlaceId place;
    SlotIndex slot;
    engine::Bytes within;
  };
  [[nodiscard]] Located locate(const engine::Region& region) const;

  const engine::Topology& topology_;
  const StagingPool::Shape shape_;
  Device& device_;
  std::vector<engine::PlaceId> own_;
  std::vector<StagingPool> pools_;            ///< by place
  std::vector<engine::StagingPlace> places_;  ///< by place
};

}  // namespace hoccl::hw
