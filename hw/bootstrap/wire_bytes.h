#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hoccl::hw {

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Into and out of the first four bytes, least significant first, whatever the processor does.
inline void put_u32(std::span<std::byte> target, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) target[i] = static_cast<std::byte>(value >> (8 * i));
}
inline std::uint32_t get_u32(std::span<const std::byte> source) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(source[i]) << (8 * i);
  return value;
}
/// Eight bytes.
inline void put_u64(std::span<std::byte> target, std::uint64_t value) {
  put_u32(target, static_cast<std::uint32_t>(value));
  put_u32(target.subspan(4), static_cast<std::uint32_t>(value >> 32));
}

}  // namespace hoccl::hw
