#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hw/verbs/nic.h"
#include "hw/verbs/nic_address.h"
#include "hw/verbs/verbs_raii.h"

namespace hoccl::hw {

/// Memory that a NIC may read or write: an address in this process or the peer's, and its key.
struct WireAddress {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
};

/// What a completion says it belongs to.
struct CompletionTag {
  enum class Role : std::uint8_t { kPayload, kHeader, kReceive };
  std::uint64_t queue_pair = 0;  ///< its serial
  Role role = Role::kPayload;

  [[nodiscard]] std::uint64_t pack() const {
    return queue_pair << 2 | static_cast<std::uint64_t>(role);
  }
  static CompletionTag unpack(std::uint64_t id) { return {id >> 2, static_cast<Role>(id & 3)}; }
};

/// A reliable connection on one NIC. Its sending end writes; its receiving end is told of writes
/// with an immediate.
class RcQueuePair {
 public:
  /// What one queue pair can have under way. A write is a payload and a header.
  struct Depth {
    int writes = 0;
    int receives = 0;
  };

  /// `serial` must not have been used before on this NIC. Throws VerbsError.
  RcQueuePair(Nic& nic, std::uint64_t serial, const Depth& depth, const VerbsOptions& options);
  ~RcQueuePair();
  RcQueuePair(const RcQueuePair&) = delete;
  RcQueuePair& operator=(const RcQueuePair&) = delete;

  [[nodiscard]] std::uint64_t serial() const { return serial_; }
  [[nodiscard]] QueuePairAddress address() const;
  [[nodiscard]] Nic& nic() const { return nic_; }
  /// Inline headers up to this size are not read from memory by the NIC.
  [[nodiscard]] std::size_t max_inline() const { return max_inline_; }

  /// Throws VerbsError.
  void connect(const QueuePairAddress& peer);
  // False: the device takes no more requests; it has failed.

  /// Takes one more write with an immediate, of which the header goes elsewhere.
  bool post_receive();
  /// Memory that is to be written, and where.
  struct Payload {
    WireAddress from;
    WireAddress to;
    std::size_t size = 0;
  };
  /// What tells the peer that all before it has landed; copied (inline), or where it is too large
  /// for that read from `from`.
  struct Header {
    std::span<const std::byte> bytes;
    WireAddress from;
    WireAddress to;
    std::uint32_t immediate = 0;
  };
  /// A payload, if there is one, without completion of its own, and the header behind it: one
  /// request to the NIC.
  bool post_write(const Payload* payload, const Header& header);
  /// Nothing more is sent or accepted; what is under way completes with an error.
  void to_error();

 private:
  Nic& nic_;
  const std::uint64_t serial_;
  const Depth depth_;
  const VerbsOptions& options_;
  std::uint32_t first_packet_ = 0;
  std::size_t max_inline_ = 0;
  QueuePairHandle queue_pair_;
};

}  // namespace hoccl::hw
