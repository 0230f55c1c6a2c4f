#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/base/units.h"
#include "hw/verbs/verbs_options.h"

namespace hoccl::hw {

/// What copies: worker threads with memcpy, or the copy engines of a CUDA GPU.
enum class CopyKind : std::uint8_t { kHost, kCuda };
/// How a CUDA stream tells that it has reached a gate: it writes a word in the host's memory, or it
/// calls a function that does. It waits at a gate by a memory operation in both, because a host
/// function that waits would hold up all other host functions of the process.
enum class GateKind : std::uint8_t { kMemoryOperations, kHostFunctions };
/// What a wire leg is: shared memory copied by a thread that plays the NIC; a slot that changes
/// owner without being copied, for measuring the copy legs alone; or RDMA.
enum class LinkKind : std::uint8_t { kLoopback, kLoopbackMap, kVerbs };

std::string_view to_string(CopyKind kind);
std::string_view to_string(GateKind kind);
std::string_view to_string(LinkKind kind);
/// Throw ConfigError listing the known names.
CopyKind parse_copy_kind(std::string_view name);
GateKind parse_gate_kind(std::string_view name);
LinkKind parse_link_kind(std::string_view name);

/// Equal on all ranks of a job.
struct HwOptions {
  CopyKind copy = CopyKind::kHost;
  LinkKind link = LinkKind::kLoopback;
  int slots = 16;  ///< send slots and receive slots, each, of every staging place
  engine::Bytes slot_size{std::int64_t{2} << 20};
  /// loopback only: per NIC and direction of sending; none: as fast as it is copied.
  std::optional<engine::BytesPerSecond> link_rate;
  /// loopback only: from the last byte sent to its arrival.
  engine::Seconds link_delay{0.0};
  /// verbs only.
  VerbsOptions verbs = {};
  /// host only: worker threads of each copy engine.
  int copy_threads = 1;
  /// cuda only.
  GateKind gates = GateKind::kMemoryOperations;
  /// cuda only: a copy that would run on SMs is refused.
  bool strict = false;
  /// cuda only: CUDA's numbers of the topology's GPUs; empty: 0, 1, ...
  std::vector<int> devices = {};
};

/// Throws ConfigError when this program, or this machine as far as its files tell, cannot copy so.
/// Does not start CUDA, which would start threads.
void require_available(CopyKind kind);
/// The same for a link; also when options of verbs are given for another one, or one is out of
/// range.
void require_available(LinkKind kind, const VerbsOptions& options);

}  // namespace hoccl::hw
