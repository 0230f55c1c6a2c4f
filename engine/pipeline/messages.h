#pragma once

// The control messages of the pipeline: 64-byte records, the kind in the first byte. What travels
// with a chunk (kStaged, kLanded, kWritten) is the Descriptor itself.

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/base/check.h"
#include "engine/fabric.h"

namespace hoccl::engine {

enum class MessageKind : std::uint8_t {
  kReady = 1,      ///< target -> source: my stream has reached the operation (admission)
  kLeaseRequest,   ///< source -> send stager: I have this many chunks for that NIC pair
  kLeaseGrant,     ///< send stager -> source: these send slots are yours, one chunk each
  kLeaseCancel,    ///< source -> send stager: the operation failed, no more chunks
  kSlotReturn,     ///< source -> send stager: a granted slot I will not fill
  kStaged,         ///< source -> send stager: a chunk lies in its send slot (Descriptor)
  kFlowSent,       ///< send stager -> source: every chunk of the flow has crossed the wire
  kCreditRequest,  ///< send stager -> receive stager: admitted chunks want receive slots
  kCredit,         ///< receive stager -> send stager: these receive slots are yours
  kCreditCancel,   ///< send stager -> receive stager: that many fewer are wanted
  kCreditReturn,   ///< send stager -> receive stager: receive slots I will not fill
  kLanded,         ///< receive stager -> target: a chunk lies in its receive slot (Descriptor)
  kPulled,         ///< target -> receive stager: I have read these slots
  kDelivered,      ///< source -> target: the whole flow lies in your buffer (direct)
  kFailed,         ///< anyone -> ranks of the operation: it ended with this status
  kStopped,        ///< source -> target: of this failed operation I write no more into your buffer
  kLeaseBranch,    ///< source -> send stager: a further node of the lease request that follows
  kStageDone,      ///< rank -> first rank of the operation: below this stage I have sent everything
  kStageOpen,      ///< first rank -> ranks of the operation: stages up to this one may begin
  kCounts,         ///< rank -> ranks of an AllToAllv: part of what it sends to each
  kWritten,        ///< source -> target: a chunk lies in your buffer (registered; Descriptor)
};

/// What a message of this kind is called; "message" for an unknown kind.
std::string_view to_string(MessageKind kind);

struct SlotReference {
  std::uint16_t slot = 0;
  std::uint16_t place = 0;
  std::uint32_t generation = 0;
};

/// How a source's chunks get into a target's buffer, as the target sees it.
enum class BufferAccess : std::uint8_t {
  kPulled,   ///< the target pulls all of them out of slots, by the plan
  kOpen,     ///< the buffer may be imported and written, by copies or NICs
  kRefused,  ///< it cannot be exported: the target pulls what would have been copied into it
};

struct ReadyMessage {
  MessageKind kind = MessageKind::kReady;
  BufferAccess access = BufferAccess::kPulled;
  std::uint16_t reserved = 0;
  OperationId operation;
  BufferHandle buffer;
  std::int64_t offset = 0;
  std::int64_t message_size_bytes = 0;  ///< the target's plan's, to be compared with the source's
};

struct LeaseRequestMessage {
  MessageKind kind = MessageKind::kLeaseRequest;
  std::uint8_t traffic_class = 0;
  std::uint16_t stage = 0;
  OperationId operation;
  FlowId flow;
  Rank target;
  NicId send_nic;     ///< none where the chunks are relayed inside the node
  NicId receive_nic;  ///< none where the chunks are relayed inside the node
  PlaceId place;      ///< whose send slots are wanted
  std::int32_t chunks = 0;
  std::int32_t first = 0;  ///< chunks of this flow and stage that were asked for before
  std::int32_t total = 0;  ///< chunks of this flow and stage
  std::int32_t branches = 0;
};

struct LeaseBranchMessage {
  MessageKind kind = MessageKind::kLeaseBranch;
  std::uint8_t reserved = 0;
  std::uint16_t stage = 0;
  OperationId operation;
  FlowId flow;
  Rank target;
  NicId receive_nic;
  std::array<std::uint32_t, 3> local_targets{};  ///< as in a Descriptor
};

struct LeaseGrantMessage {
  static constexpr std::size_t kCapacity = 5;
  MessageKind kind = MessageKind::kLeaseGrant;
  std::uint8_t count = 0;
  std::uint16_t reserved = 0;
  OperationId operation;
  FlowId flow;
  std::array<SlotReference, kCapacity> slots{};
};

/// kLeaseCancel, kFlowSent, kDelivered, kStopped (for all flows of the operation).
struct FlowMessage {
  MessageKind kind = MessageKind::kFlowSent;
  std::uint8_t reserved = 0;
  std::uint16_t stage = 0;  ///< kLeaseCancel, kFlowSent
  OperationId operation;
  FlowId flow;
  std::int32_t chunks = 0;  ///< kFlowSent: how many more
  std::int32_t chunk = -1;  ///< kDelivered: this one; -1: all
};

/// Consecutive numbers of the sender's row of counts, those that follow the last message's.
struct CountsMessage {
  static constexpr std::size_t kCapacity = 6;
  MessageKind kind = MessageKind::kCounts;
  std::uint8_t count = 0;
  std::uint16_t reserved = 0;
  OperationId operation;
  std::array<std::int64_t, kCapacity> bytes{};
};

/// kStageDone, kStageOpen.
struct StageMessage {
  MessageKind kind = MessageKind::kStageDone;
  std::array<std::uint8_t, 3> reserved{};
  OperationId operation;
  std::int32_t stage = 0;
};

/// kSlotReturn, kPulled.
struct SlotMessage {
  MessageKind kind = MessageKind::kPulled;
  std::uint8_t in_send_slots = 0;  ///< kPulled: as in the Descriptor
  std::array<std::uint8_t, 2> reserved{};
  SlotReference slot;
};

/// kCreditRequest, kCreditCancel.
struct CreditCountMessage {
  MessageKind kind = MessageKind::kCreditRequest;
  std::uint8_t traffic_class = 0;
  std::uint16_t stage = 0;
  std::uint16_t communicator = 0;
  std::uint16_t reserved = 0;
  NicId send_nic;
  NicId receive_nic;
  std::int32_t count = 0;
};

/// kCredit, kCreditReturn.
struct CreditMessage {
  static constexpr std::size_t kCapacity = 6;
  MessageKind kind = MessageKind::kCredit;
  std::uint8_t count = 0;
  std::uint16_t reserved = 0;
  NicId send_nic;
  NicId receive_nic;
  std::array<SlotReference, kCapacity> slots{};
};

/// What a link in a Status is, in numbers that fit a message.
struct LinkName {
  enum class Kind : std::uint8_t { kNone, kNicPair, kCopyLane, kExport, kImport, kRegister };
  Kind kind = Kind::kNone;
  std::uint8_t copy_class = 0;
  std::int32_t first = -1;   ///< sending NIC, or lane
  std::int32_t second = -1;  ///< receiving NIC
};
std::string to_string(const LinkName& link);

inline LinkName nic_pair(NicId send, NicId receive) {
  LinkName link;
  link.kind = LinkName::Kind::kNicPair;
  link.first = send.value();
  link.second = receive.value();
  return link;
}

struct FailedMessage {
  MessageKind kind = MessageKind::kFailed;
  Cause cause = Cause::kNone;
  std::uint16_t reserved = 0;
  OperationId operation;
  Rank rank;
  Rank peer;
  FlowId flow;
  std::int64_t chunk = -1;
  LinkName link;
};

template <class Record>
Message pack(const Record& record) {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) <= sizeof(Message));
  Message message;
  std::memcpy(message.bytes.data(), &record, sizeof(Record));
  return message;
}

template <class Record>
Record unpack(const Message& message) {
  static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) <= sizeof(Message));
  Record record;
  std::memcpy(static_cast<void*>(&record), message.bytes.data(), sizeof(Record));
  return record;
}

inline MessageKind kind_of(const Message& message) {
  return static_cast<MessageKind>(message.bytes[0]);
}

}  // namespace hoccl::engine
