#pragma once

#include <vector>

#include "engine/fabric.h"
#include "engine/topology/topology.h"

namespace hoccl::sim {

/// Every buffer of the run: where it lies and who may name it. There is no memory behind.
class BufferTable {
 public:
  explicit BufferTable(const engine::Topology& topology);

  /// A user buffer in the rank's GPU memory; only its owner may name it until it is imported.
  engine::BufferHandle allocate(engine::Rank owner, engine::Bytes size);
  /// A pool of slots, mapped by every rank of the place's node.
  engine::BufferHandle allocate_pool(engine::PlaceId place, engine::Rank host, engine::Bytes size);

  void mark_exported(engine::BufferHandle buffer);
  void mark_registered(engine::BufferHandle buffer);
  /// The buffer must have been exported, or, on another node than the rank's, registered.
  void mark_imported(engine::BufferHandle buffer, engine::Rank rank);

  /// Where the region lies. The region must be within its buffer and `rank` allowed to name it.
  [[nodiscard]] engine::PlaceId locate(const engine::Region& region, engine::Rank rank) const;
  /// The same for a region that a NIC reads or writes: in a pool, or in a buffer registered by its
  /// owner (and imported by `rank` if that is another).
  [[nodiscard]] engine::PlaceId locate_for_nic(const engine::Region& region,
                                               engine::Rank rank) const;
  [[nodiscard]] bool is_pool(engine::BufferHandle buffer) const { return find(buffer).pool; }

 private:
  struct Buffer {
    engine::PlaceId place;
    engine::Bytes size;
    bool pool = false;
    bool exported = false;
    bool registered = false;
    std::vector<engine::Rank> importers;
  };

  [[nodiscard]] const Buffer& find(engine::BufferHandle buffer) const;
  [[nodiscard]] Buffer& find(engine::BufferHandle buffer);
  engine::BufferHandle add(engine::Rank owner, Buffer buffer);
  static void check_range(const engine::Region& region, const Buffer& buffer);

  const engine::Topology& topology_;
  std::vector<std::vector<Buffer>> buffers_;  ///< by owner
};

}  // namespace hoccl::sim
