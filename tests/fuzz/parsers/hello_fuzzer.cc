// No bytes of a stranger are taken for a hello, a greeting's answer or a verdict of our job: one
// who does not know the secret cannot pass, whatever he sends.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/check.h"
#include "hw/bootstrap/hello.h"

namespace {

using namespace hoccl::hw;

constexpr MacKey kKey = {std::byte{1}, std::byte{2}, std::byte{3}};
const Introduction kServer{hoccl::engine::Rank(0), 4, "1.0"};
const Introduction kClient{hoccl::engine::Rank(1), 4, "1.0"};

/// The valid bytes with the input's bytes XORed over them; whether they differ.
template <class Bytes>
bool disturb(Bytes& bytes, std::span<const std::byte> input) {
  const std::size_t count = std::min(bytes.size(), input.size());
  bool differs = false;
  for (std::size_t i = 0; i < count; ++i) {
    bytes[i] ^= input[i];
    differs |= input[i] != std::byte{0};
  }
  return differs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  const Nonce server_nonce{std::byte{7}};
  const Nonce client_nonce{std::byte{9}};
  const GreetingBytes greeting = make_greeting(kServer, server_nonce);
  const HelloBytes hello = make_hello(kKey, greeting, kClient, client_nonce);
  const VerdictBytes verdict = make_verdict(kKey, greeting, hello, Verdict::kAccepted);

  HelloBytes other_hello = hello;
  const bool forged = disturb(other_hello, input);
  HOCCL_CHECK((read_hello(kKey, greeting, other_hello).verdict == Verdict::kAccepted) == !forged,
              "a forged hello");
  VerdictBytes other_verdict = verdict;
  const bool altered = disturb(other_verdict, input);
  HOCCL_CHECK(read_verdict(kKey, greeting, hello, other_verdict).authentic == !altered,
              "a forged verdict");
  GreetingBytes other_greeting = greeting;
  if (disturb(other_greeting, input)) {
    read_greeting(other_greeting);
    HOCCL_CHECK(read_hello(kKey, other_greeting, hello).verdict != Verdict::kAccepted,
                "a hello to another greeting");
  }
  return 0;
}
