#include "tests/support/ideal_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace hoccl::engine {

std::string to_string(const Accessor& accessor) {
  return fmt::format("{} {} of rank {} (operation {}, flow {}, chunk {})", accessor.what,
                     accessor.ticket, accessor.rank, accessor.tag.operation, accessor.tag.flow,
                     accessor.tag.chunk);
}

IdealMemory::IdealMemory(const Topology& topology, const IdealOptions& options)
    : topology_(topology), options_(options) {
  buffers_.resize(static_cast<std::size_t>(topology.rank_count()));
  std::set<PlaceId> used;
  for (int gpu = 0; gpu < topology.gpu_count(); ++gpu) used.insert(topology.place_of(GpuId(gpu)));
  for (int i = 0; i < topology.place_count(); ++i) {
    const PlaceId place(i);
    StagingPlace staging;
    staging.place = place;
    staging.host = topology.host_of(place);
    staging.slot_size = options.slot_size;
    if (used.contains(place) && !staging.host.is_none()) {
      staging.send_slot_count = options.send_slots;
      staging.receive_slot_count = options.receive_slots;
      staging.send_slots =
          add(staging.host, BufferKind::kSendSlots, place, options.slot_size * options.send_slots);
      staging.receive_slots = add(staging.host, BufferKind::kReceiveSlots, place,
                                  options.slot_size * options.receive_slots);
    }
    staging_.push_back(staging);
  }
}

BufferHandle IdealMemory::add(Rank owner, BufferKind kind, PlaceId place, Bytes size) {
  auto& owned = buffers_.at(owner.index());
  Buffer& buffer = owned.emplace_back();
  buffer.kind = kind;
  buffer.place = place;
  buffer.bytes.assign(static_cast<std::size_t>(size.count()), kPoison);
  if (kind == BufferKind::kUser) {
    buffer.written.assign(buffer.bytes.size(), false);
  } else {
    buffer.slots.resize(static_cast<std::size_t>(size / options_.slot_size));
  }
  return {owner, static_cast<std::int32_t>(owned.size()) - 1};
}

BufferHandle IdealMemory::allocate(Rank owner, Bytes size) {
  return add(owner, BufferKind::kUser, topology_.gpu_place(topology_.gpu_of(owner)), size);
}

const StagingPlace& IdealMemory::staging(PlaceId place) const { return staging_.at(place.index()); }

IdealMemory::Buffer& IdealMemory::at(BufferHandle buffer) {
  return const_cast<Buffer&>(std::as_const(*this).at(buffer));
}

const IdealMemory::Buffer& IdealMemory::at(BufferHandle buffer) const {
  HOCCL_CHECK(!buffer.owner.is_none() && buffer.owner.index() < buffers_.size() && buffer.id >= 0 &&
                  static_cast<std::size_t>(buffer.id) < buffers_[buffer.owner.index()].size(),
              "no buffer {} of rank {}", buffer.id, buffer.owner);
  return buffers_[buffer.owner.index()][static_cast<std::size_t>(buffer.id)];
}

std::span<std::byte> IdealMemory::bytes(BufferHandle buffer) { return at(buffer).bytes; }

std::span<std::byte> IdealMemory::bytes(const Region& region) {
  return bytes(region.buffer)
      .subspan(static_cast<std::size_t>(region.offset.count()),
               static_cast<std::size_t>(region.size.count()));
}

PlaceId IdealMemory::place_of(BufferHandle buffer) const { return at(buffer).place; }
BufferKind IdealMemory::kind_of(BufferHandle buffer) const { return at(buffer).kind; }
void IdealMemory::set_exported(BufferHandle buffer) { at(buffer).exported = true; }
bool IdealMemory::is_exported(BufferHandle buffer) const { return at(buffer).exported; }
void IdealMemory::set_registered(BufferHandle buffer) { at(buffer).registered = true; }
bool IdealMemory::is_registered(BufferHandle buffer) const { return at(buffer).registered; }
void IdealMemory::add_importer(BufferHandle buffer, Rank rank) {
  at(buffer).importers.insert(rank);
}
bool IdealMemory::is_importer(BufferHandle buffer, Rank rank) const {
  return at(buffer).importers.contains(rank);
}

IdealMemory::AccessId IdealMemory::begin(const Region& region, bool writes,
                                         const Accessor& accessor) {
  Buffer& buffer = at(region.buffer);
  const std::int64_t begin = region.offset.count();
  const std::int64_t end = begin + region.size.count();
  HOCCL_CHECK(begin >= 0 && begin < end && end <= std::ssize(buffer.bytes),
              "{}: bytes {} to {} are not within buffer {} of rank {}, which has {}",
              to_string(accessor), begin, end, region.buffer.id, region.buffer.owner,
              buffer.bytes.size());
  for (const Access& other : buffer.accesses) {
    HOCCL_CHECK(other.end <= begin || end <= other.begin || !(writes || other.writes),
                "{} would {} bytes {} to {} of buffer {} of rank {}, while {} still {} {} to {}",
                to_string(accessor), writes ? "write" : "read", begin, end, region.buffer.id,
                region.buffer.owner, to_string(other.accessor), other.writes ? "writes" : "reads",
                other.begin, other.end);
  }
  buffer.accesses.push_back({next_access_, begin, end, writes, accessor});
  return next_access_++;
}

IdealMemory::Slot& IdealMemory::slot_of(Buffer& buffer, const Region& region,
                                        const Accessor& accessor) {
  const std::int64_t index = region.offset / options_.slot_size;
  HOCCL_CHECK(index == (region.offset + region.size - Bytes(1)) / options_.slot_size,
              "{}: bytes {} to {} are in more than one slot", to_string(accessor),
              region.offset.count(), (region.offset + region.size).count());
  return buffer.slots.at(static_cast<std::size_t>(index));
}

IdealMemory::AccessId IdealMemory::begin_read(const Region& region, const Accessor& accessor) {
  const AccessId access = begin(region, false, accessor);
  Buffer& buffer = at(region.buffer);
  if (buffer.kind != BufferKind::kUser) {
    const Slot& slot = slot_of(buffer, region, accessor);
    // A send slot may be read for several nodes, and only its stager knows for how many.
    const bool holds = slot.reads_left > 0 || buffer.kind == BufferKind::kSendSlots;
    HOCCL_CHECK(holds && slot.begin <= region.offset.count() &&
                    (region.offset + region.size).count() <= slot.end,
                "{} would read bytes {} to {} of a slot that holds {} to {} for {} more reads",
                to_string(accessor), region.offset.count(), (region.offset + region.size).count(),
                slot.begin, slot.end, slot.reads_left);
  }
  return access;
}

IdealMemory::AccessId IdealMemory::begin_write(const Region& region, const Accessor& accessor) {
  const AccessId access = begin(region, true, accessor);
  Buffer& buffer = at(region.buffer);
  if (buffer.kind != BufferKind::kUser) {
    Slot& slot = slot_of(buffer, region, accessor);
    HOCCL_CHECK(slot.reads_left == 0 || !options_.slots_are_read,
                "{} would overwrite the slot at byte {} of buffer {} of rank {} before it was read",
                to_string(accessor), region.offset.count(), region.buffer.id, region.buffer.owner);
    slot = Slot();
  }
  return access;
}

void IdealMemory::end(BufferHandle handle, AccessId access) {
  std::vector<Access>& accesses = at(handle).accesses;
  const auto found = std::ranges::find(accesses, access, &Access::id);
  HOCCL_CHECK(found != accesses.end(), "access {} ended twice", access);
  accesses.erase(found);
}

void IdealMemory::poison(const Region& region) { std::ranges::fill(bytes(region), kPoison); }

void IdealMemory::store(const Region& region, std::span<const std::byte> source, int reads,
                        const Accessor& accessor) {
  Buffer& buffer = at(region.buffer);
  std::ranges::copy(source, bytes(region).begin());
  const std::int64_t begin = region.offset.count();
  const std::int64_t end = begin + region.size.count();
  if (buffer.kind != BufferKind::kUser) {
    slot_of(buffer, region, accessor) = {begin, end, reads};
  } else if (options_.write_once) {
    const auto first = buffer.written.begin() + begin;
    const auto last = buffer.written.begin() + end;
    const auto twice = std::find(first, last, true);
    HOCCL_CHECK(twice == last, "{}: byte {} of buffer {} of rank {} is written twice",
                to_string(accessor), twice - buffer.written.begin(), region.buffer.id,
                region.buffer.owner);
    std::fill(first, last, true);
  }
}

void IdealMemory::consumed(const Region& region) {
  Buffer& buffer = at(region.buffer);
  if (buffer.kind == BufferKind::kUser) return;
  Slot& slot = buffer.slots.at(static_cast<std::size_t>(region.offset / options_.slot_size));
  if (slot.reads_left == 0) return;
  if (--slot.reads_left == 0 && buffer.kind == BufferKind::kReceiveSlots) {
    poison({region.buffer, Bytes(slot.begin), Bytes(slot.end - slot.begin)});
  }
}

void IdealMemory::reset_written(BufferHandle handle) {
  Buffer& buffer = at(handle);
  buffer.written.assign(buffer.bytes.size(), false);
}

std::string IdealMemory::unfinished() const {
  for (std::size_t owner = 0; owner < buffers_.size(); ++owner) {
    for (std::size_t id = 0; id < buffers_[owner].size(); ++id) {
      const Buffer& buffer = buffers_[owner][id];
      if (!buffer.accesses.empty()) {
        return fmt::format("{} is still in flight on buffer {} of rank {}",
                           to_string(buffer.accesses.front().accessor), id, owner);
      }
      if (!options_.slots_are_read) continue;
      const auto unread =
          std::ranges::find_if(buffer.slots, [](const Slot& slot) { return slot.reads_left > 0; });
      if (unread != buffer.slots.end()) {
        return fmt::format("slot {} of buffer {} of rank {} was not read",
                           unread - buffer.slots.begin(), id, owner);
      }
    }
  }
  return {};
}

}  // namespace hoccl::engine
