#include "sim/fabric/buffer_table.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::BufferHandle;
using engine::Bytes;
using engine::PlaceId;
using engine::Rank;
using engine::Region;

BufferTable::BufferTable(const engine::Topology& topology)
    : topology_(topology), buffers_(static_cast<std::size_t>(topology.rank_count())) {}

BufferHandle BufferTable::add(Rank owner, Buffer buffer) {
  std::vector<Buffer>& owned = buffers_.at(owner.index());
  owned.push_back(std::move(buffer));
  return {.owner = owner, .id = static_cast<std::int32_t>(owned.size()) - 1};
}

BufferHandle BufferTable::allocate(Rank owner, Bytes size) {
  return add(owner, {.place = topology_.gpu_place(topology_.gpu_of(owner)),
                     .size = size,
                     .pool = false,
                     .exported = false,
                     .registered = false,
                     .importers = {}});
}

BufferHandle BufferTable::allocate_pool(PlaceId place, Rank host, Bytes size) {
  return add(host, {.place = place,
                    .size = size,
                    .pool = true,
                    .exported = false,
                    .registered = false,
                    .importers = {}});
}

const BufferTable::Buffer& BufferTable::find(BufferHandle buffer) const {
  HOCCL_CHECK(!buffer.owner.is_none() && buffer.owner.index() < buffers_.size() && buffer.id >= 0 &&
                  static_cast<std::size_t>(buffer.id) < buffers_[buffer.owner.index()].size(),
              "no buffer {} of rank {}", buffer.id, buffer.owner);
  return buffers_[buffer.owner.index()][static_cast<std::size_t>(buffer.id)];
}

BufferTable::Buffer& BufferTable::find(BufferHandle buffer) {
  return const_cast<Buffer&>(std::as_const(*this).find(buffer));
}

void BufferTable::mark_exported(BufferHandle buffer) { find(buffer).exported = true; }

void BufferTable::mark_registered(BufferHandle buffer) { find(buffer).registered = true; }

void BufferTable::mark_imported(BufferHandle handle, Rank rank) {
  Buffer& buffer = find(handle);
  const bool local = topology_.node_of(handle.owner) == topology_.node_of(rank);
  HOCCL_CHECK(local ? buffer.exported : buffer.registered,
              "rank {} imports buffer {} of rank {}, which was not {}", rank, handle.id,
              handle.owner, local ? "exported on its node" : "registered");
  buffer.importers.push_back(rank);
}

void BufferTable::check_range(const Region& region, const Buffer& buffer) {
  HOCCL_CHECK(region.offset.count() >= 0 && region.size.count() >= 0 &&
                  region.offset + region.size <= buffer.size,
              "bytes {} to {} of buffer {} of rank {}, which has {}", region.offset.count(),
              (region.offset + region.size).count(), region.buffer.id, region.buffer.owner,
              buffer.size.count());
}

PlaceId BufferTable::locate(const Region& region, Rank rank) const {
  const Buffer& buffer = find(region.buffer);
  check_range(region, buffer);
  const bool allowed =
      buffer.pool ? topology_.node_of(buffer.place) == topology_.node_of(rank)
                  : region.buffer.owner == rank ||
                        std::ranges::find(buffer.importers, rank) != buffer.importers.end();
  HOCCL_CHECK(allowed, "rank {} names buffer {} of rank {} without having imported it", rank,
              region.buffer.id, region.buffer.owner);
  return buffer.place;
}

PlaceId BufferTable::locate_for_nic(const Region& region, Rank rank) const {
  const Buffer& buffer = find(region.buffer);
  check_range(region, buffer);
  if (buffer.pool) return buffer.place;
  const bool known = region.buffer.owner == rank ||
                     std::ranges::find(buffer.importers, rank) != buffer.importers.end();
  HOCCL_CHECK(buffer.registered && known,
              "buffer {} of rank {} is not registered with the NICs, or not known to rank {}",
              region.buffer.id, region.buffer.owner, rank);
  return buffer.place;
}

}  // namespace hoccl::sim
