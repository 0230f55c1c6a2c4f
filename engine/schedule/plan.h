#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "engine/pattern/flow.h"

namespace hoccl::engine {

/// How a transfer's bytes travel.
enum class Route : std::uint8_t {
  /// One leg: the source's copy engine pushes into the target's buffer (paper §3.3.2). Where that
  /// cannot be written into, the pipeline relays it through a third place all the same.
  kDirect,
  kStaged,      ///< stage-in to a staging place, wire, deliver by the target's pull (paper §3.3.1)
  kRelayed,     ///< inside a node, through a third place: stage-in, deliver by the target's pull
  kRegistered,  ///< one leg: the source's NIC reads its buffer and writes the target's, no slots
};

/// A further node that a staged transfer's chunks go to, out of the same send slot.
struct Branch {
  NicId receive_nic;
  Rank target;
  /// As in Transfer.
  std::vector<Rank> more_targets = {};
  std::int32_t stage = 0;
  std::int32_t stage_list = -1;

  bool operator==(const Branch&) const = default;
};

/// One contiguous piece of a flow on one path.
struct Transfer {
  FlowId id = FlowId::none();  ///< the same on every rank, whichever part of the plan it knows
  Rank source;
  Rank target;
  /// In the source's send buffer of the operation; where `after` is set, in its receive buffer.
  Bytes source_offset;
  Bytes target_offset;  ///< in the target's receive buffer
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;
  Route route = Route::kDirect;
  /// kStaged: the NIC that sends and the NIC that receives. Their places hold the slots.
  /// kRegistered: NICs next to the source's GPU and next to the target's.
  NicId send_nic;
  NicId receive_nic;
  /// kRelayed only: the place of the same node whose send slots it goes through.
  PlaceId via = PlaceId::none();
  /// Contention-free stage of the wire leg; lower goes first. Of all chunks, unless `stage_list`
  /// (an index into Plan::stage_lists) says more.
  std::int32_t stage = 0;
  std::int32_t stage_list = -1;
  /// A transfer of equal size whose target our source is, that brings it these bytes: chunk k can
  /// start when chunk k of that one has been delivered. None: the bytes are there from the start.
  FlowId after = FlowId::none();
  /// kStaged only, ascending: further ranks on the target's node that pull the same chunks out of
  /// the same receive slots, to the same target_offset. The wire is crossed once for all of them.
  std::vector<Rank> more_targets = {};
  /// kStaged only: further nodes, each at most once. The bytes are staged once for all of them.
  std::vector<Branch> branches = {};

  bool operator==(const Transfer&) const = default;
};

/// Part of a list of stages: up to `end` of `StageList::total`.
struct StageMark {
  std::int32_t stage = 0;
  std::int64_t end = 0;

  bool operator==(const StageMark&) const = default;
};

/// The stages of everything that goes from one node (or NIC) to another: a chunk at position
/// (k + 1/2) / m of its transfer belongs to the first mark whose end / total is above that. So a
/// stage holds the same share of every transfer, and the plan does not grow with the stages.
struct StageList {
  std::int64_t total = 0;
  std::vector<StageMark> marks;  ///< both ascending; the last ends at `total`

  bool operator==(const StageList&) const = default;
};

/// What decides the stages of wire legs.
enum class Order : std::uint8_t {
  kCritical,  ///< total length = lower bound: rotation where it reaches that, else critical-port
              ///< threshold matching
  kBvn,       ///< plain Birkhoff-von Neumann
  kRotation,  ///< stage d: everyone to the d-th next (NCCL, SpreadOut)
  kLocal,     ///< no stages: every source interleaves its own transfers
};

/// A pattern compiled for a topology: plain data, the same on every rank, its size independent of
/// the message size. Chunks are generated from it lazily.
struct Plan {
  std::string pattern;   ///< "sendrecv", ...
  std::string topology;  ///< name of the topology it was compiled for
  std::int32_t rank_count = 0;
  Bytes message_size;  ///< the pattern's size as nccl-tests counts it
  Bytes chunk_size;
  /// Unless kLocal, no NIC sends to two or receives from two in one stage.
  Order order = Order::kCritical;
  std::vector<StageList> stage_lists = {};
  std::vector<Transfer> transfers;  ///< by id, ascending

  bool operator==(const Plan&) const = default;
};

/// Largest chunk: a descriptor holds a chunk's size in 32 bits.
inline constexpr Bytes kMaxChunkSize = Bytes((std::int64_t{1} << 32) - 1);
/// Most chunks of one transfer: lease and credit messages count them in signed 32 bits.
inline constexpr std::int64_t kMaxChunksPerTransfer = (std::int64_t{1} << 31) - 1;
/// Largest stage: a descriptor holds it in 16 bits.
inline constexpr std::int32_t kMaxStage = 65535;
/// Largest total of a stage list, so that its products with chunk numbers fit 64 bits.
inline constexpr std::int64_t kMaxStageListTotal = std::int64_t{1} << 30;
/// Most further nodes of one transfer. Each holds a receive slot while its chunk waits for the next
/// one's, so a chunk's way through n of them takes n round trips.
inline constexpr std::size_t kMaxBranches = 3;

/// Every rank the transfer is delivered to: `target` first, then its node's, then the branches'.
std::vector<Rank> targets_of(const Transfer& transfer);
bool delivers_to(const Transfer& transfer, Rank rank);

/// Whether a NIC sends it: it has a NIC at either end, and stages.
inline bool crosses_wire(const Transfer& transfer) {
  return transfer.route == Route::kStaged || transfer.route == Route::kRegistered;
}

/// Whether its chunks go through slots; else straight into the target's buffer.
inline bool goes_through_slots(const Transfer& transfer) {
  return transfer.route == Route::kStaged || transfer.route == Route::kRelayed;
}

/// Number of chunks of a transfer. The last may be short.
inline std::int64_t chunks_of(const Transfer& transfer, Bytes chunk_size) {
  return chunk_count(transfer.size, chunk_size);
}

/// A run of consecutive chunks in one stage.
struct StageSegment {
  std::int32_t stage = 0;
  std::int64_t chunks = 0;

  bool operator==(const StageSegment&) const = default;
};

/// How `chunks` chunks spread over the stages of a list; runs without a chunk are left out.
std::vector<StageSegment> segments_of(const StageList& list, std::int64_t chunks);
/// The same of a transfer's first wire leg, or its only stage.
std::vector<StageSegment> segments_of(const Plan& plan, const Transfer& transfer);
/// The stage of chunk number `chunk` of `chunks` on the wire leg to a further node.
std::int32_t stage_at(const Plan& plan, const Branch& branch, std::int64_t chunks,
                      std::int64_t chunk);

}  // namespace hoccl::engine
