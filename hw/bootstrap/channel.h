#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <string_view>

#include "hw/bootstrap/frame.h"
#include "hw/bootstrap/sockets.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// Frames on a connected, non-blocking socket. It never blocks.
class Channel {
 public:
  Channel(FileDescriptor socket, const MacKey& send_key, const MacKey& receive_key);

  /// To be sent by write().
  void queue(std::string_view payload);
  /// Hands over what the system takes now. A failure is found by read(), after the other end's last
  /// words.
  void write();
  [[nodiscard]] bool all_written() const { return outgoing_.empty(); }
  /// The next frame if it has come. Nothing and a fault when there will be none any more.
  std::optional<std::string> read();
  /// Ends the connection: the other end sees it as lost.
  void close();
  /// "was lost", "sent a forged frame", ...; empty while the connection works.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// Whether that fault is no more than the connection's end.
  [[nodiscard]] bool lost() const { return lost_; }

  /// The numeric address of this end.
  [[nodiscard]] std::string own_address() const { return own_address_of(socket_); }
  /// See sockets.h.
  void expect_answers_within(engine::Seconds time) { hw::expect_answers_within(socket_, time); }

  /// What poll() must watch for.
  [[nodiscard]] pollfd watched() const;

 private:
  FileDescriptor socket_;
  FrameWriter writer_;
  FrameReader reader_;
  std::string outgoing_;
  std::string fault_;
  bool lost_ = false;
};

}  // namespace hoccl::hw
