#pragma once

// THE SEAM. Everything below it (a SimGrid model, real copy engines and verbs, the closed-form test
// fabric) implements Port; everything above it is the same code for all of them. A capability
// enters only when every fabric has it.
//
// A Port is used from two sides. The *application* side enqueues gates on streams and submits
// commands; the *proxy* side posts work and polls. Neither ever blocks. The fabric owns the mailbox
// between the two sides, so the engine needs no locks.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "engine/base/ids.h"
#include "engine/base/operation_id.h"
#include "engine/base/units.h"

namespace hoccl::engine {

class Topology;
struct Command;

/// A buffer as its owner registered it. Never a pointer: the simulation has no memory.
struct BufferHandle {
  Rank owner;
  std::int32_t id = -1;

  auto operator<=>(const BufferHandle&) const = default;
};

/// Part of a buffer.
struct Region {
  BufferHandle buffer;
  Bytes offset;
  Bytes size;
};

/// Which copy engine of the executing GPU moves the bytes. On NVSwitch Hopper one logical engine
/// serves all peer traffic of a GPU and one each D2H and H2D (reference: kernel_ce_gh100.c).
enum class CopyClass : std::uint8_t { kPeer, kDeviceToHost, kHostToDevice };
inline constexpr std::size_t kCopyClassCount = 3;
inline constexpr std::array<CopyClass, kCopyClassCount> kCopyClasses = {
    CopyClass::kPeer, CopyClass::kDeviceToHost, CopyClass::kHostToDevice};
/// "peer", "d2h" or "h2d".
std::string_view to_string(CopyClass copy_class);

/// One FIFO of copies on an engine of the port's own GPU (a CUDA stream on hardware).
struct Lane {
  CopyClass copy_class = CopyClass::kPeer;
  std::uint8_t index = 0;

  auto operator<=>(const Lane&) const = default;
};

/// Which chunk a transfer carries, and whose it is: for traces, error texts and accounting only, no
/// fabric decides by it.
struct ChunkTag {
  OperationId operation;
  FlowId flow;
  std::uint32_t chunk = 0;
  Rank source;  ///< the rank whose message it is part of
};

/// What a copy is for, in the paper's terms; names the trace event.
enum class Leg : std::uint8_t { kStageIn, kDirect, kDeliver };

/// A DMA copy executed by the port's own GPU. Source and target lie in different GPUs (or one of
/// them in host memory): a copy within one GPU would run on SMs.
struct CopyRequest {
  Region source;
  Region target;
  Leg leg = Leg::kDirect;
  ChunkTag tag;
};

/// The fixed 64 bytes that travel with every chunk, so that relays need no plan. Also the layout of
/// a chunk's control message inside a node, hence `kind` in front (see pipeline/messages.h).
struct Descriptor {
  std::uint8_t kind = 0;
  std::uint8_t traffic_class = 0;  ///< 0 foreground, 1 background
  std::uint16_t stage = 0;
  std::uint16_t slot = 0;   ///< send slot until the wire, then receive slot
  std::uint16_t place = 0;  ///< the place that slot is in
  OperationId operation;
  std::uint32_t flow = 0;
  std::uint32_t chunk = 0;
  std::uint32_t size_bytes = 0;
  std::uint64_t target_offset = 0;               ///< in the target's buffer of this operation
  std::array<std::uint32_t, 3> local_targets{};  ///< bit i: local rank i of the receiving node
  std::uint32_t generation = 0;                  ///< of `slot`
  /// Where the slot is: 0 in the receive slots, 1 (relayed inside a node) in the send slots.
  std::uint8_t in_send_slots = 0;
  std::array<std::uint8_t, 7> reserved{};  ///< no padding: all 64 bytes are sent
};
static_assert(sizeof(Descriptor) == 64);

/// A small control message; its meaning belongs to pipeline/messages.h.
struct Message {
  alignas(8) std::array<std::byte, 64> bytes{};
};

/// An RDMA write between registered regions, both slots or both user buffers, in order per queue
/// pair. Its arrival, payload first, is reported to the queue pair's peer.
struct WriteRequest {
  Region local;
  Region remote;
  std::uint32_t immediate = 0;
  Descriptor descriptor;
  ChunkTag tag;
};

/// Where staging slots live and who serves them. Both pools are registered once, mapped by every
/// process of the node, and known to every rank.
struct StagingPlace {
  PlaceId place;
  Rank host;
  BufferHandle send_slots;
  BufferHandle receive_slots;
  std::int32_t send_slot_count = 0;
  std::int32_t receive_slot_count = 0;
  Bytes slot_size;
};

/// A sequence of gates: one per (communicator, stream). Its two words grow monotonically.
struct Gate {
  std::uint16_t communicator = 0;
  StreamId stream;

  auto operator<=>(const Gate&) const = default;
};
using Sequence = std::uint64_t;

/// Handle of a submitted group of operations, unique per rank.
using WorkId = StrongId<struct WorkTag, std::int64_t>;

enum class Cause : std::uint8_t {
  kNone,
  kLinkError,
  kCopyError,
  kTimeout,
  kPeerLost,
  kAborted,
  kSizeMismatch,  ///< source and target called with different sizes
};

/// How an operation ended. Anything but kNone names where it broke.
struct Status {
  Cause cause = Cause::kNone;
  Rank rank;         ///< that saw it
  Rank peer;         ///< towards which
  std::string link;  ///< "nic 3 -> nic 11", "copy peer/0", ...
  OperationId operation;
  FlowId flow;
  std::int64_t chunk = -1;

  [[nodiscard]] bool ok() const { return cause == Cause::kNone; }
};
std::string to_string(const Status& status);

enum class Outcome : std::uint8_t { kOk, kError };

// Completions. Copies and writes complete cumulatively: kOk means every ticket of that lane or
// queue pair up to `ticket` is done; kError means this very ticket failed, and all before it are
// done.
struct CopiesDone {
  Lane lane;
  Ticket ticket;
  Outcome outcome = Outcome::kOk;
};
struct WritesDone {
  QueuePairId queue_pair;
  Ticket ticket;
  /// kError: the write did not arrive and never will.
  Outcome outcome = Outcome::kOk;
};
/// A write into a place this port hosts, or into a buffer of this rank, has landed.
struct Arrived {
  NicId local_nic;
  NicId remote_nic;
  std::uint32_t immediate = 0;
  Descriptor descriptor;
};
struct MessageArrived {
  Rank source;
  Message message;
};
/// The GPU's stream has passed enqueue_ready(gate, sequence). Cumulative.
struct GateReached {
  Gate gate;
  Sequence sequence = 0;
};
struct Submitted {
  std::shared_ptr<const Command> command;
};
/// A buffer of this port can now be named to ranks of its node / was imported from one.
struct BufferExported {
  BufferHandle buffer;
  bool ok = true;  ///< false: this memory cannot be exported (VMM); it is filled through slots
};
/// NICs can now read and write a user buffer of this port.
struct BufferRegistered {
  BufferHandle buffer;
  bool ok = true;  ///< false: this memory cannot be registered
};
struct BufferImported {
  BufferHandle buffer;
  bool ok = true;  ///< false: this rank cannot write into it
};
/// Foreground work (tensor parallelism) started or ended on this port's GPU.
struct ForegroundChanged {
  bool active = false;
};
/// The fabric vouches that this rank will never touch memory again.
struct PeerLost {
  Rank peer;
};

using Completion =
    std::variant<CopiesDone, WritesDone, Arrived, MessageArrived, GateReached, Submitted,
                 BufferExported, BufferRegistered, BufferImported, ForegroundChanged, PeerLost>;

/// Bookkeeping that costs the proxy CPU time but moves nothing.
enum class CpuWork : std::uint8_t {
  kPlanFlow,     ///< a flow of a plan set up
  kPlanCount,    ///< an entry of an AllToAllv's matrix, while it is planned
  kBookkeeping,  ///< a state changed
};

/// A direction of a GPU's link to its peers.
enum class LinkSide : std::uint8_t { kOut, kIn };

class Port {
 public:
  virtual ~Port() = default;

  [[nodiscard]] virtual Rank rank() const = 0;
  [[nodiscard]] virtual const Topology& topology() const = 0;
  [[nodiscard]] virtual Seconds now() const = 0;

  // --- proxy side ---

  /// Appends to the lane's open batch. Tickets of a lane grow by one per copy.
  virtual Ticket post_copy(Lane lane, const CopyRequest& request) = 0;
  /// Hands the open batches of all lanes to their engines.
  virtual void flush() = 0;
  /// Tickets of a queue pair grow by one per write. The caller keeps below the queue's depth.
  virtual Ticket post_write(QueuePairId queue_pair, const WriteRequest& request) = 0;
  /// Ordered per (sender, target); a message to the own rank is allowed.
  virtual void post_message(Rank target, const Message& message) = 0;

  /// The index-th reliable connection between this rank and `peer`, over a NIC of either: next to
  /// its GPU, or of a place that it hosts. Asking again gives the same id.
  virtual QueuePairId queue_pair(NicId local, NicId remote, Rank peer, int index) = 0;
  [[nodiscard]] virtual const StagingPlace& staging(PlaceId place) const = 0;

  /// Makes a user buffer of this rank nameable by other ranks of its node; yields BufferExported.
  virtual void export_buffer(BufferHandle buffer) = 0;
  /// Lets NICs read and write a user buffer of this rank; yields BufferRegistered.
  virtual void register_buffer(BufferHandle buffer) = 0;
  /// Learns how to write into another rank's buffer: exported, if that is on this node, else
  /// registered. Yields BufferImported.
  virtual void import_buffer(BufferHandle buffer) = 0;

  /// Lets the stream pass enqueue_wait(gate, s) for every s <= sequence.
  virtual void open_gate(Gate gate, Sequence sequence) = 0;
  /// Tells the application how its submission ended.
  virtual void finish(WorkId work, const Status& status) = 0;
  /// Fills `out` with what happened, oldest first; returns how many.
  virtual std::size_t poll(std::span<Completion> out) = 0;
  virtual void account(CpuWork work, std::int64_t count) = 0;

  /// Tells the ranks of this node how many copies that this rank has posted are under way out of,
  /// or into, the memory of a GPU of the node.
  virtual void report_copies(GpuId gpu, LinkSide side, int under_way) = 0;
  /// What all living ranks of the node have told of that GPU, added up: a hint by which they keep
  /// out of each other's way. May lag behind.
  [[nodiscard]] virtual int copies_under_way(GpuId gpu, LinkSide side) const = 0;

  // --- application side ---

  /// The stream tells the proxy that it has come this far (GateReached) and goes on.
  virtual void enqueue_ready(Gate gate, Sequence sequence) = 0;
  /// The stream waits until open_gate reached `sequence`.
  virtual void enqueue_wait(Gate gate, Sequence sequence) = 0;
  /// The stream tells every proxy of this GPU that foreground work begins or has ended.
  virtual void enqueue_foreground(StreamId stream, bool active) = 0;
  virtual void submit(std::shared_ptr<const Command> command) = 0;
  /// The status once finish() was called for it.
  [[nodiscard]] virtual std::optional<Status> query(WorkId work) const = 0;
};

/// Whether, and why not, a fabric can run here.
struct Viability {
  bool ok = true;
  std::string reason;
};

class Fabric {
 public:
  virtual ~Fabric() = default;
  [[nodiscard]] virtual Viability viability() const = 0;
  virtual Port& port(Rank rank) = 0;
};

}  // namespace hoccl::engine
