#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/fabric.h"
#include "engine/topology/topology.h"
#include "tests/support/ideal_options.h"

namespace hoccl::engine {

enum class BufferKind : std::uint8_t { kUser, kSendSlots, kReceiveSlots };

/// Who reads or writes memory, for the text of a failed check.
struct Accessor {
  Rank rank;
  const char* what = "";  ///< "copy", "write"; static storage
  Ticket ticket;
  ChunkTag tag;
};
std::string to_string(const Accessor& accessor);

/// All buffers of all ranks, real bytes included, with the rules that nobody may break: regions lie
/// in their buffers, nothing is written while it is read or written, slots are read before they are
/// written again, user bytes are written once.
class IdealMemory {
 public:
  /// What freed and half-written memory looks like.
  static constexpr std::byte kPoison{0xdb};
  using AccessId = std::int64_t;

  IdealMemory(const Topology& topology, const IdealOptions& options);

  BufferHandle allocate(Rank owner, Bytes size);
  [[nodiscard]] const StagingPlace& staging(PlaceId place) const;
  std::span<std::byte> bytes(BufferHandle buffer);
  std::span<std::byte> bytes(const Region& region);
  [[nodiscard]] PlaceId place_of(BufferHandle buffer) const;
  [[nodiscard]] BufferKind kind_of(BufferHandle buffer) const;

  void set_exported(BufferHandle buffer);
  [[nodiscard]] bool is_exported(BufferHandle buffer) const;
  /// NICs may read and write it.
  void set_registered(BufferHandle buffer);
  [[nodiscard]] bool is_registered(BufferHandle buffer) const;
  void add_importer(BufferHandle buffer, Rank rank);
  [[nodiscard]] bool is_importer(BufferHandle buffer, Rank rank) const;

  /// The region may be read, or written, from now until end(): whoever conflicts fails.
  AccessId begin_read(const Region& region, const Accessor& accessor);
  AccessId begin_write(const Region& region, const Accessor& accessor);
  void end(BufferHandle buffer, AccessId access);

  /// Bytes stop being what they were: a transfer into them has started.
  void poison(const Region& region);
  /// A transfer puts its bytes there. A slot then waits for `reads` reads.
  void store(const Region& region, std::span<const std::byte> bytes, int reads,
             const Accessor& accessor);
  /// One of the reads that a slot waits for has been seen to end.
  void consumed(const Region& region);

  void reset_written(BufferHandle buffer);
  /// Names the first access in flight or unread slot (where slots must be read), or nothing.
  [[nodiscard]] std::string unfinished() const;

 private:
  struct Access {
    AccessId id = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool writes = false;
    Accessor accessor;
  };
  /// Contents of a staging slot, as offsets into its pool.
  struct Slot {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    int reads_left = 0;
  };
  struct Buffer {
    BufferKind kind = BufferKind::kUser;
    PlaceId place;
    std::vector<std::byte> bytes;
    std::vector<Slot> slots;
    std::vector<bool> written;
    std::vector<Access> accesses;
    bool exported = false;
    bool registered = false;
    std::set<Rank> importers;
  };

  Buffer& at(BufferHandle buffer);
  [[nodiscard]] const Buffer& at(BufferHandle buffer) const;
  BufferHandle add(Rank owner, BufferKind kind, PlaceId place, Bytes size);
  AccessId begin(const Region& region, bool writes, const Accessor& accessor);
  Slot& slot_of(Buffer& buffer, const Region& region, const Accessor& accessor);

  const Topology& topology_;
  const IdealOptions& options_;
  std::vector<std::vector<Buffer>> buffers_;  // by owner and id
  std::vector<StagingPlace> staging_;         // by place
  AccessId next_access_ = 0;
};

}  // namespace hoccl::engine
