#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "hw/bootstrap/hello.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// The client's end of a hello on a connected socket. It never blocks.
class Visitor {
 public:
  enum class State : std::uint8_t {
    kWaiting,   ///< for the server's next words
    kAccepted,  ///< by the rank it wanted
    kRefused,   ///< by the rank it wanted: trying again is of no use
    /// Refused because this rank is there, perhaps from an earlier try that ended before its
    /// verdict; until the other end has noticed that.
    kDuplicate,
    kStranger,  ///< whoever listens here is not the rank it wanted
  };

  Visitor(FileDescriptor socket, const MacKey& key, const Introduction& self, engine::Rank server);

  /// Reads what has come and answers it.
  State advance();
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// Why it was refused or takes the other end for a stranger.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// When accepted.
  FileDescriptor take_socket() { return std::move(socket_); }
  [[nodiscard]] SessionKeys session_keys() const;

 private:
  /// False: not all of it is there, and if the other end is gone it is a stranger.
  bool receive(std::span<std::byte> target);
  void answer_greeting();
  void read_verdict_bytes();
  State end(State state, std::string reason);

  FileDescriptor socket_;
  MacKey key_;
  Introduction self_;
  engine::Rank server_;
  State state_ = State::kWaiting;
  std::string reason_;
  bool has_answered_ = false;
  std::size_t received_ = 0;  ///< of the greeting, then of the verdict
  GreetingBytes greeting_{};
  HelloBytes hello_{};
  VerdictBytes verdict_{};
};

}  // namespace hoccl::hw
