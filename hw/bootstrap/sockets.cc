#include "hw/bootstrap/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <system_error>

#include "hw/bootstrap/bootstrap_error.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {

namespace {

constexpr int kFlags = SOCK_CLOEXEC | SOCK_NONBLOCK;

void set_option(const FileDescriptor& socket, int level, int option, int value) {
  if (::setsockopt(socket.get(), level, option, &value, sizeof value) != 0) {
    throw SystemError("set a socket option");
  }
}

const sockaddr* generic(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

template <class Address>
SocketAddress to_generic(const Address& address) {
  SocketAddress result{.storage = {}, .size = sizeof address};
  std::memcpy(&result.storage, &address, sizeof address);
  return result;
}

SocketAddress ipv4(in_addr_t host) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(host);
  return to_generic(address);
}

SocketAddress any_ipv6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_any;
  return to_generic(address);
}

/// No descriptor and errno when it cannot be had.
FileDescriptor listen_at(const SocketAddress& address) {
  FileDescriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | kFlags, 0));
  if (!socket) return {};
  // Connections of an earlier job that still linger must not keep its port from the next one.
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.storage.ss_family == AF_INET6) set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const bool listens = ::bind(socket.get(), generic(address), address.size) == 0 &&
                       ::listen(socket.get(), SOMAXCONN) == 0;
  return listens ? std::move(socket) : FileDescriptor();
}

SocketAddress address_of(const FileDescriptor& socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size) !=
      0) {
    throw SystemError("ask for the address of a socket");
  }
  return address;
}

/// An IPv4 address also where an IPv6 socket has it.
std::string numeric_host(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  ::getnameinfo(generic(address), address.size, host.data(), host.size(), nullptr, 0,
                NI_NUMERICHOST);
  std::string text = host.data();
  constexpr std::string_view kMapped = "::ffff:";
  if (text.starts_with(kMapped)) text.erase(0, kMapped.size());
  return text;
}

}  // namespace

bool is_loopback(const std::string& host) {
  return host.empty() || host == "localhost" || host == "::1" || host.starts_with("127.");
}

LoopbackListener listen_on_loopback() {
  LoopbackListener result{.socket = listen_at(ipv4(INADDR_LOOPBACK)), .port = 0};
  if (!result.socket) throw SystemError("listen on a port of 127.0.0.1");
  result.port = port_of(result.socket);
  return result;
}

std::uint16_t port_of(const FileDescriptor& socket) {
  const SocketAddress address = address_of(socket);
  // At the same place in both families.
  sockaddr_in either{};
  std::memcpy(&either, &address.storage, sizeof either);
  return ntohs(either.sin_port);
}

std::string own_address_of(const FileDescriptor& socket) {
  return numeric_host(address_of(socket));
}

void expect_answers_within(const FileDescriptor& socket, engine::Seconds time) {
  // Four questions in that time, the first after a quarter of it.
  const int interval = std::max(1, static_cast<int>(time.count() / 4));
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, interval);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, interval);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(time.count() * 1e3));
}

FileDescriptor listen_on_first_free(const std::string& host, std::span<const std::uint16_t> ports) {
  std::string unused;
  const std::vector<SocketAddress> loopback =
      is_loopback(host) ? resolve(host, 0, unused) : std::vector<SocketAddress>();
  int error = 0;
  for (const std::uint16_t port : ports) {
    FileDescriptor socket =
        listen_at(with_port(loopback.empty() ? any_ipv6() : loopback.front(), port));
    if (!socket && errno == EAFNOSUPPORT) socket = listen_at(with_port(ipv4(INADDR_ANY), port));
    if (socket) return socket;
    error = errno;
  }
  throw BootstrapError(fmt::format("cannot listen on port {}: {}", fmt::join(ports, " or "),
                                   std::generic_category().message(error)));
}

bool is_listening(int number) {
  int listens = 0;
  socklen_t size = sizeof listens;
  return ::getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 1;
}

FileDescriptor adopt_socket(int number) {
  FileDescriptor socket(number);
  const int flags = ::fcntl(number, F_GETFL);
  if (flags < 0 || ::fcntl(number, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::fcntl(number, F_SETFD, FD_CLOEXEC) != 0) {
    throw SystemError(fmt::format("adopt socket {}", number));
  }
  return socket;
}

SocketAddress with_port(SocketAddress address, std::uint16_t port) {
  // At the same place in both families, and both have one.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const std::uint16_t in_network_order = htons(port);
  std::memcpy(reinterpret_cast<std::byte*>(&address.storage) + offsetof(sockaddr_in, sin_port),
              &in_network_order, sizeof in_network_order);
  return address;
}

std::vector<SocketAddress> resolve(const std::string& host, std::uint16_t port,
                                   std::string& error) {
  if (host.empty()) return {with_port(ipv4(INADDR_LOOPBACK), port)};
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int result = ::getaddrinfo(host.c_str(), nullptr, &hints, &first);
  if (result != 0) {
    error = ::gai_strerror(result);
    return {};
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address{.storage = {}, .size = entry->ai_addrlen};
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    addresses.push_back(with_port(address, port));
  }
  return addresses;
}

FileDescriptor accept_one(const FileDescriptor& listener) {
  FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, kFlags));
  if (!socket) {
    const bool nobody = errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    if (!nobody) throw SystemError("accept a connection");
    return {};
  }
  const int enable = 1;  // fails on a Unix socket, which needs no such option
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &enable, sizeof enable);
  return socket;
}

bool send_all_now(const FileDescriptor& socket, std::span<const std::byte> bytes) {
  const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

FileDescriptor start_connecting(const SocketAddress& address) {
  FileDescriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | kFlags, 0));
  if (!socket) {
    if (errno == EAFNOSUPPORT) return {};
    throw SystemError("make a TCP socket");
  }
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(socket.get(), generic(address), address.size) == 0 || errno == EINPROGRESS) {
    return socket;
  }
  return {};
}

int pending_error(const FileDescriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

PeerName peer_name(const FileDescriptor& socket) {
  SocketAddress address;
  address.size = sizeof address.storage;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size) !=
      0) {
    return {.origin = "somewhere", .whole = "somewhere"};
  }
  if (address.storage.ss_family == AF_UNIX) {
    ucred peer{};
    socklen_t size = sizeof peer;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
    const std::string user = fmt::format("user {}", peer.uid);
    return {.origin = user, .whole = fmt::format("process {} of {}", peer.pid, user)};
  }
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(generic(address), address.size, nullptr, 0, port.data(), port.size(),
                NI_NUMERICSERV);
  std::string origin = numeric_host(address);
  std::string whole = origin.find(':') == std::string::npos ? origin : '[' + origin + ']';
  whole.append(":").append(port.data());
  return {.origin = std::move(origin), .whole = std::move(whole)};
}

}  // namespace hoccl::hw
