#pragma once

// How two processes prove to each other that they belong to one job, as pure functions on bytes.
// The server (who was connected to) speaks first:
//
//   server -> client  greeting  who it is, and a nonce
//   client -> server  hello     who it is, a nonce, and a MAC over both, so that a recorded hello
//                               proves nothing to a server with another nonce
//   server -> client  verdict   accepted or why not, and a MAC over all of it, so that the client
//                               recognises a server that does not know the secret
//
// All three have a fixed size: no stranger can announce a length.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/ids.h"
#include "hw/bootstrap/authentication.h"

namespace hoccl::hw {

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::size_t kMaxProgramVersion = 24;
/// For JobSecret::key(): a hello to one kind of server proves nothing to the other.
inline constexpr std::string_view kRendezvousPurpose = "hoccl rendezvous";
inline constexpr std::string_view kLocalMeshPurpose = "hoccl local mesh";
inline constexpr std::string_view kRemoteMeshPurpose = "hoccl remote mesh";

/// One end of a connection.
struct Introduction {
  engine::Rank rank;
  int job_size = 0;
  std::string program_version;  ///< at most kMaxProgramVersion
};

using Nonce = std::array<std::byte, 32>;
/// Magic 8, protocol version 4, rank 4, job size 4, program version 24 (padded with zeros), nonce.
using GreetingBytes = std::array<std::byte, 44 + sizeof(Nonce)>;
/// The same (another magic), and the MAC.
using HelloBytes = std::array<std::byte, sizeof(GreetingBytes) + sizeof(Mac)>;
/// Magic 8, verdict 4, MAC.
using VerdictBytes = std::array<std::byte, 12 + sizeof(Mac)>;

enum class Verdict : std::uint32_t {
  kAccepted,
  kNotAHello,
  kOtherProtocol,
  kWrongSecret,
  // Those below are told to a client that has proved the secret.
  kOtherProgram,
  kOtherJobSize,
  kRankOutOfRange,
  kDuplicateRank,
};

/// Keys of an accepted connection, one per direction, that no other connection has.
struct SessionKeys {
  MacKey to_server{};
  MacKey to_client{};
};

/// `nonce` must never be used twice.
GreetingBytes make_greeting(const Introduction& server, const Nonce& nonce);
HelloBytes make_hello(const MacKey& key, const GreetingBytes& greeting, const Introduction& client,
                      const Nonce& nonce);
VerdictBytes make_verdict(const MacKey& key, const GreetingBytes& greeting, const HelloBytes& hello,
                          Verdict verdict);
/// Of a hello that was accepted.
SessionKeys make_session_keys(const MacKey& key, const GreetingBytes& greeting,
                              const HelloBytes& hello);

/// What the client makes of a greeting. Not authenticated before the verdict is.
struct GreetingReading {
  bool understood = false;  ///< magic and protocol version are ours
  Introduction server;
};
GreetingReading read_greeting(const GreetingBytes& greeting);

/// What the server makes of a hello to its `greeting`: accepted as far as the hello alone can tell.
struct HelloReading {
  Verdict verdict = Verdict::kNotAHello;
  Introduction
      client;  ///< authentic unless the verdict is kNotAHello, kOtherProtocol or kWrongSecret
};
HelloReading read_hello(const MacKey& key, const GreetingBytes& greeting, const HelloBytes& hello);

/// What the client makes of a verdict on its `hello`.
struct VerdictReading {
  bool authentic = false;  ///< false: the server does not know the secret, ignore what it says
  Verdict verdict = Verdict::kNotAHello;
};
VerdictReading read_verdict(const MacKey& key, const GreetingBytes& greeting,
                            const HelloBytes& hello, const VerdictBytes& verdict);

}  // namespace hoccl::hw
