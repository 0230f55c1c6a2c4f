#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "engine/pipeline/command.h"
#include "engine/pipeline/messages.h"

namespace hoccl::engine {

struct OperationState;

/// A transfer this rank sends.
struct SourceFlow {
  OperationState* operation = nullptr;
  FlowId id;
  const Transfer* transfer = nullptr;
  std::int64_t chunks = 0;
  std::int64_t next_chunk = 0;    ///< first one whose copy is not posted yet
  std::int64_t copied = 0;        ///< chunks that have left the user buffer
  std::vector<Rank> waiting_for;  ///< targets that are not ready (or, if direct, not imported)
  bool leasing = false;           ///< a lease is open at the send stager
  bool queued = false;            ///< waits for a copy engine
  bool done = false;
  CopyClass copy_class = CopyClass::kPeer;
  PlaceId place;                                 ///< staged: where its send slots are
  std::array<std::uint32_t, 3> local_targets{};  ///< staged: as in its chunks' descriptors
  std::deque<SlotReference> slots;               ///< staged: granted, not yet used
  Region target_buffer;                          ///< direct: the target's buffer of this operation

  /// All targets are ready: its chunks may take slots or cross the network.
  [[nodiscard]] bool admitted() const { return waiting_for.empty(); }
};

/// A transfer this rank receives.
struct TargetFlow {
  OperationState* operation = nullptr;
  FlowId id;
  const Transfer* transfer = nullptr;
  std::int64_t chunks = 0;
  std::int64_t delivered = 0;
  bool exposed = false;  ///< direct: the source may be writing into our buffer
  bool done = false;
};

/// One unfinished operation on this rank.
struct OperationState {
  Operation operation;
  std::vector<SourceFlow> sources;                     ///< by flow id
  std::vector<TargetFlow> targets;                     ///< by flow id
  std::vector<std::pair<Rank, ReadyMessage>> readies;  ///< that came before the start
  std::vector<Descriptor> parked;                      ///< chunks that landed before the start
  std::size_t unfinished_flows = 0;
  int copies_in_flight = 0;
  bool announced = false;
  bool started = false;
  bool failed = false;
  Status status;
  Seconds last_progress{0};
};

}  // namespace hoccl::engine
