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
  kDirect,  ///< one leg: the source's copy engine pushes into the target's buffer (paper §3.3.2)
  kStaged,  ///< stage-in to a staging place, wire, deliver by the target's pull (paper §3.3.1)
};

/// One contiguous piece of a flow on one path. Index in Plan::transfers is its FlowId.
struct Transfer {
  Rank source;
  Rank target;
  Bytes source_offset;  ///< in the source's send buffer of the operation
  Bytes target_offset;  ///< in the target's receive buffer
  Bytes size;
  FlowClass flow_class = FlowClass::kForeground;
  Route route = Route::kDirect;
  /// kStaged only: the NIC that sends and the NIC that receives. Their places hold the slots.
  NicId send_nic;
  NicId receive_nic;
  /// Contention-free stage of the wire leg; lower goes first.
  std::int32_t stage = 0;
  /// kStaged only, ascending: further ranks on the target's node that pull the same chunks out of
  /// the same receive slots, to the same target_offset. The wire is crossed once for all of them.
  std::vector<Rank> more_targets = {};

  bool operator==(const Transfer&) const = default;
};

/// A pattern compiled for a topology: plain data, the same on every rank, its size independent of
/// the message size. Chunks are generated from it lazily.
struct Plan {
  std::string pattern;   ///< "sendrecv", ...
  std::string topology;  ///< name of the topology it was compiled for
  std::int32_t rank_count = 0;
  Bytes message_size;  ///< the pattern's size as nccl-tests counts it
  Bytes chunk_size;
  std::vector<Transfer> transfers;

  bool operator==(const Plan&) const = default;
};

/// Largest chunk: a descriptor holds a chunk's size in 32 bits.
inline constexpr Bytes kMaxChunkSize = Bytes((std::int64_t{1} << 32) - 1);
/// Most chunks of one transfer: lease and credit messages count them in signed 32 bits.
inline constexpr std::int64_t kMaxChunksPerTransfer = (std::int64_t{1} << 31) - 1;
/// Largest stage: a descriptor holds it in 16 bits.
inline constexpr std::int32_t kMaxStage = 65535;

/// Every rank the transfer is delivered to, `target` first.
inline std::vector<Rank> targets_of(const Transfer& transfer) {
  std::vector<Rank> targets = {transfer.target};
  targets.insert(targets.end(), transfer.more_targets.begin(), transfer.more_targets.end());
  return targets;
}

inline bool delivers_to(const Transfer& transfer, Rank rank) {
  return transfer.target == rank ||
         std::ranges::find(transfer.more_targets, rank) != transfer.more_targets.end();
}

/// Number of chunks of a transfer. The last may be short.
inline std::int64_t chunks_of(const Transfer& transfer, Bytes chunk_size) {
  return chunk_count(transfer.size, chunk_size);
}

}  // namespace hoccl::engine
