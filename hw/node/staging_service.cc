#include "hw/node/staging_service.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::hw {

using engine::BufferHandle;
using engine::Bytes;
using engine::PlaceId;
using engine::Rank;
using engine::Region;
using engine::StagingPlace;

StagingService::StagingService(const engine::Topology& topology, Rank rank,
                               const StagingPool::Shape& shape, Device& device)
    : topology_(topology), shape_(shape), device_(device) {
  pools_.resize(static_cast<std::size_t>(topology.place_count()));
  for (int i = 0; i < topology.place_count(); ++i) {
    StagingPlace place;
    place.place = PlaceId(i);
    place.host = topology.host_of(place.place);
    // The same handles on every rank, without talking.
    place.send_slots = {place.host, 2 * i};
    place.receive_slots = {place.host, 2 * i + 1};
    place.send_slot_count = shape.slots;
    place.receive_slot_count = shape.slots;
    place.slot_size = shape.slot_size;
    places_.push_back(place);
    if (place.host != rank) continue;
    own_.push_back(place.place);
    const bool on_gpu =
        device.has_own_memory() && !shape.in_host_memory && !topology.is_host(place.place);
    pools_[place.place.index()] = StagingPool::create(place.place, shape, device, on_gpu);
  }
}

std::int32_t StagingService::first_user_buffer(const engine::Topology& topology) {
  return 2 * topology.place_count();
}

int StagingService::descriptor(PlaceId place) const { return pools_[place.index()].descriptor(); }

BlockName StagingService::frames(PlaceId place) const { return pools_[place.index()].frames(); }

void StagingService::attach(PlaceId place, FileDescriptor descriptor, const BlockName& frames) {
  HOCCL_CHECK(!pools_.at(place.index()), "place {} is attached already", place);
  pools_[place.index()] = StagingPool::attach(std::move(descriptor), frames, shape_, device_);
}

bool StagingService::is_missing(PlaceId place, Rank host) const {
  return !place.is_none() && place.index() < places_.size() &&
         places_[place.index()].host == host && !pools_[place.index()];
}

bool StagingService::complete(std::span<const Rank> hosts) const {
  return std::ranges::all_of(places_, [&](const StagingPlace& place) {
    const bool is_ours = std::ranges::find(hosts, place.host) != hosts.end();
    return !is_ours || static_cast<bool>(pools_[place.place.index()]);
  });
}

const StagingPlace& StagingService::place(PlaceId place) const { return places_.at(place.index()); }

bool StagingService::is_slot(BufferHandle buffer) const {
  return buffer.id < first_user_buffer(topology_);
}

StagingService::Located StagingService::locate(const Region& region) const {
  HOCCL_CHECK(is_slot(region.buffer), "buffer {} of rank {} is no slot", region.buffer.id,
              region.buffer.owner);
  const std::int64_t index = region.offset.count() / shape_.slot_size.count();
  const Bytes within = region.offset - shape_.slot_size * index;
  HOCCL_CHECK(index < shape_.slots && within + region.size <= shape_.slot_size,
              "{} bytes at {} of slots of {} leave their slot", region.size.count(),
              region.offset.count(), shape_.slot_size.count());
  return {PlaceId(region.buffer.id / 2),
          {region.buffer.id % 2 == 1, static_cast<std::uint32_t>(index)},
          within};
}

std::byte* StagingService::bytes(const Region& region) const {
  const Located located = locate(region);
  const StagingPool& pool = pools_[located.place.index()];
  const StagingPool::Frame frame = pool.frame_of(located.slot).load(std::memory_order_acquire);
  return pools_[frame / pool.frame_count()].frame(frame % pool.frame_count()) +
         located.within.count();
}

std::size_t StagingService::offset_in_slot_memory(const Region& region) const {
  const Located located = locate(region);
  return located.slot.index * StagingPool::frame_stride(shape_) +
         static_cast<std::size_t>(located.within.count());
}

void StagingService::exchange(const Region& one, const Region& other) {
  const Located first = locate(one);
  const Located second = locate(other);
  std::atomic<StagingPool::Frame>& first_frame = pools_[first.place.index()].frame_of(first.slot);
  std::atomic<StagingPool::Frame>& second_frame =
      pools_[second.place.index()].frame_of(second.slot);
  const StagingPool::Frame kept = first_frame.load(std::memory_order_acquire);
  first_frame.store(second_frame.load(std::memory_order_acquire), std::memory_order_release);
  second_frame.store(kept, std::memory_order_release);
}

}  // namespace hoccl::hw
