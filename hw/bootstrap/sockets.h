#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

// Every socket made here is close-on-exec and non-blocking.

struct LoopbackListener {
  FileDescriptor socket;
  std::uint16_t port = 0;
};
/// On a port of 127.0.0.1 that the system picks.
LoopbackListener listen_on_loopback();

/// On the first free one of `ports`: of this machine's loopback if `host` names it or is empty,
/// else of all its addresses (a host's own name often leads to another address on the host itself
/// than elsewhere). Throws BootstrapError when none is free.
FileDescriptor listen_on_first_free(const std::string& host, std::span<const std::uint16_t> ports);

/// Whether a host's name or address is this machine's loopback (empty: so it is).
bool is_loopback(const std::string& host);
/// The port that a TCP socket is bound to.
std::uint16_t port_of(const FileDescriptor& socket);
/// The numeric address of this end of a connection.
std::string own_address_of(const FileDescriptor& socket);
/// From now on the connection ends when the other machine has not answered for `time`, also when
/// nothing is sent.
void expect_answers_within(const FileDescriptor& socket, engine::Seconds time);

/// Whether `number` is a socket that listens.
bool is_listening(int number);
/// Takes a socket that this process inherited; from now on no child inherits it.
FileDescriptor adopt_socket(int number);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
/// All addresses of `host` (empty: loopback). Asks the name service, which takes its own time.
/// Nothing, and the reason in `error`, when there is none.
std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port, std::string& error);
SocketAddress with_port(SocketAddress address, std::uint16_t port);

/// No descriptor: nobody waits to be accepted. Throws SystemError when the process has too many.
FileDescriptor accept_one(const FileDescriptor& listener);
/// A few bytes on a fresh connection, which has room for them. False: the other end is gone.
bool send_all_now(const FileDescriptor& socket, std::span<const std::byte> bytes);

/// Begins to connect; POLLOUT says that it is over. No descriptor: refused at once.
FileDescriptor start_connecting(const SocketAddress& address);
/// The error a socket met, or 0.
int pending_error(const FileDescriptor& socket);

/// Who is at the other end, for people.
struct PeerName {
  std::string origin;  ///< the machine or the user
  std::string whole;   ///< with its port or process
};
PeerName peer_name(const FileDescriptor& socket);

}  // namespace hoccl::hw
