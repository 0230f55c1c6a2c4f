#include "hw/bootstrap/authentication.h"

#include <sodium.h>

#include "engine/base/check.h"

namespace hoccl::hw {

namespace {

static_assert(crypto_auth_hmacsha512256_KEYBYTES == sizeof(MacKey));
static_assert(crypto_auth_hmacsha512256_BYTES == sizeof(Mac));

const unsigned char* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* octets(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

/// Its generator is safe to use from several threads only after this.
void initialise_sodium() {
  static const int result = sodium_init();
  HOCCL_CHECK(result >= 0, "libsodium cannot start");
}

}  // namespace

Mac compute_mac(const MacKey& key, std::initializer_list<std::span<const std::byte>> parts) {
  initialise_sodium();
  crypto_auth_hmacsha512256_state state;
  crypto_auth_hmacsha512256_init(&state, octets(std::span(key)), key.size());
  for (const std::span<const std::byte> part : parts) {
    crypto_auth_hmacsha512256_update(&state, octets(part), part.size());
  }
  Mac mac;
  crypto_auth_hmacsha512256_final(&state, octets(std::span<std::byte>(mac)));
  return mac;
}

bool equal_macs(std::span<const std::byte, sizeof(Mac)> left,
                std::span<const std::byte, sizeof(Mac)> right) {
  return sodium_memcmp(left.data(), right.data(), left.size()) == 0;
}

void derive_key(std::span<const std::byte> secret, std::span<const std::byte> context,
                std::span<std::byte> key) {
  initialise_sodium();
  const int result = crypto_generichash(octets(key), key.size(), octets(context), context.size(),
                                        octets(secret), secret.size());
  HOCCL_CHECK(result == 0, "BLAKE2b with a key of {} and a digest of {} bytes", secret.size(),
              key.size());
}

void fill_random(std::span<std::byte> bytes) {
  initialise_sodium();
  randombytes_buf(bytes.data(), bytes.size());
}

}  // namespace hoccl::hw
