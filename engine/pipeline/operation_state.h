#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "engine/pipeline/command.h"
#include "engine/pipeline/interleave.h"
#include "engine/pipeline/messages.h"

namespace hoccl::engine {

struct OperationState;

/// Consecutive chunks of a source flow that are leased together.
struct LeaseSegment {
  std::int32_t stage = 0;
  std::int32_t gate = 0;  ///< with barriers: the highest stage of its wire legs, or of those before
  std::int64_t begin = 0;  ///< first chunk
  std::int64_t chunks = 0;
  std::int64_t requested = 0;    ///< chunks asked for so far
  std::int64_t unrequested = 0;  ///< chunks that are there and not asked for yet
};

/// A transfer this rank sends.
struct SourceFlow {
  OperationState* operation = nullptr;
  FlowId id;
  const Transfer* transfer = nullptr;
  std::int64_t chunks = 0;
  std::int64_t posted = 0;             ///< chunks whose copy (registered: write) is posted
  std::int64_t copied = 0;             ///< chunks that have left the user buffer
  std::int64_t sent = 0;               ///< leased ones: chunks whose send slot is free again
  std::vector<Rank> waiting_for;       ///< targets that are not ready, or not imported
  std::deque<std::int64_t> available;  ///< depends(): chunks that may be posted, ascending
  bool stepwise = false;  ///< direct: the target passes the chunks on, so it is told of each
  bool queued = false;    ///< waits for a copy engine, or for a NIC
  bool done = false;
  CopyClass copy_class = CopyClass::kPeer;
  PlaceId place;                                 ///< of its send slots; none: not leased
  std::vector<LeaseSegment> segments;            ///< leased or registered: by chunk
  std::array<std::uint32_t, 3> local_targets{};  ///< staged: as in its chunks' descriptors
  std::deque<SlotReference> slots;               ///< leased: granted, not yet used
  Region target_buffer;  ///< direct or registered: the target's buffer of this operation

  /// All targets are ready: its chunks may take slots or cross the network.
  [[nodiscard]] bool admitted() const { return waiting_for.empty(); }
  /// Its bytes come from another transfer, chunk by chunk.
  [[nodiscard]] bool depends() const { return !transfer->after.is_none(); }
  /// What its bytes come out of: another transfer's target, or the user's send buffer.
  [[nodiscard]] const Region& buffer() const;
  /// Goes through send slots: by the plan, or because its target's buffer cannot be written into.
  [[nodiscard]] bool leased() const { return !place.is_none(); }
  /// A chunk that is there and not posted, if any.
  [[nodiscard]] bool has_waiting_chunk() const {
    return depends() ? !available.empty() : posted < chunks;
  }
  /// The next one. Needs has_waiting_chunk().
  [[nodiscard]] std::int64_t first_waiting_chunk() const {
    return depends() ? available.front() : posted;
  }
  /// Of that chunk in the source's order.
  [[nodiscard]] double position() const {
    return interleave_position(first_waiting_chunk(), chunks);
  }
  /// When that chunk goes among others: lower goes first.
  [[nodiscard]] double turn(bool interleave) const {
    return interleave ? position() : static_cast<double>(id.value());
  }
  /// Takes it: it counts as posted. Where it begins in the transfer, and where it lies.
  struct TakenChunk {
    std::int64_t number = 0;
    Bytes within;
    Region region;
  };
  TakenChunk take_chunk();
  /// Where a taken chunk goes, if direct or registered.
  [[nodiscard]] Region target_of(const TakenChunk& chunk) const;
  LeaseSegment& segment_of(std::int64_t chunk);
  [[nodiscard]] std::int32_t stage_of(std::int64_t chunk) const;
  [[nodiscard]] Bytes chunk_size(std::int64_t chunk) const;
};

/// A transfer this rank receives.
struct TargetFlow {
  OperationState* operation = nullptr;
  FlowId id;
  const Transfer* transfer = nullptr;
  std::int64_t chunks = 0;
  std::int64_t delivered = 0;
  std::vector<FlowId> passed_on;  ///< source flows of this rank that wait for its chunks
  bool leaves_again = false;      ///< one of those goes to another node
  bool exposed = false;           ///< the source may be writing into our buffer
  /// Direct by the plan, but pulled: the place of its slots, as far as is known.
  PlaceId place = PlaceId::none();
  bool done = false;
};

/// One unfinished operation on this rank.
struct OperationState {
  Operation operation;
  std::int64_t number = 0;                             ///< of all this rank was given, in order
  std::vector<SourceFlow> sources;                     ///< by flow id
  std::vector<TargetFlow> targets;                     ///< by flow id
  std::vector<std::pair<Rank, ReadyMessage>> readies;  ///< that came before the start
  std::vector<Descriptor> parked;                      ///< chunks that landed before the start
  std::size_t unfinished_flows = 0;
  std::size_t unfinished_ahead = 0;             ///< of them: all but direct ones, which may wait
  std::map<std::int32_t, std::int64_t> unsent;  ///< with barriers: chunks by gate
  std::int32_t open_stage = -1;                 ///< with barriers: the highest that may begin
  std::int32_t reported_stage = -1;             ///< with barriers: the lowest we still have to send
  // Chunks between nodes, as a source and as a target, and those of them whose copy here has ended.
  std::int64_t staged_out = 0;
  std::int64_t staged_out_copied = 0;
  std::int64_t staged_in = 0;
  std::int64_t staged_in_copied = 0;
  int legs_in_flight = 0;  ///< copies, and writes out of its buffers
  bool announced = false;
  bool started = false;
  bool failed = false;
  bool stopped = false;  ///< its direct targets know that we write nothing more
  Status status;
  Seconds last_progress{0};

  /// How far this rank has come with what goes between nodes, from 0 to 1.
  [[nodiscard]] double staged_progress() const;
};

/// Bits of a Descriptor for these ranks of one node.
std::array<std::uint32_t, 3> local_targets_of(const Topology& topology, Rank target,
                                              const std::vector<Rank>& more);

}  // namespace hoccl::engine
