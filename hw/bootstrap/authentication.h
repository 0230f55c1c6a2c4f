#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace hoccl::hw {

using MacKey = std::array<std::byte, 32>;
using Mac = std::array<std::byte, 32>;

/// HMAC-SHA512/256 over the parts, one after the other. Their lengths are not part of it: at most
/// one of them may vary in length, or the lengths must be among the parts.
Mac compute_mac(const MacKey& key, std::initializer_list<std::span<const std::byte>> parts);

/// In constant time.
bool equal_macs(std::span<const std::byte, sizeof(Mac)> left,
                std::span<const std::byte, sizeof(Mac)> right);

/// Keyed BLAKE2b of `context` into `key`; `secret` has 16 to 64 bytes, `key` too.
void derive_key(std::span<const std::byte> secret, std::span<const std::byte> context,
                std::span<std::byte> key);

/// From the operating system's generator.
void fill_random(std::span<std::byte> bytes);

}  // namespace hoccl::hw
