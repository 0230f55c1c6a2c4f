#include "tests/support/byte_pattern.h"

#include "engine/base/random.h"

namespace hoccl::engine {
namespace {

std::byte pattern_byte(std::uint64_t word, std::size_t position) {
  return static_cast<std::byte>((word >> (8 * (position % 8))) & 0xff);
}

std::uint64_t pattern_word(std::uint64_t message, std::size_t position) {
  return Random(message * 0x100000001b3ULL + position / 8).next();
}

}  // namespace

void fill_pattern(std::span<std::byte> bytes, std::uint64_t message) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 8 == 0) word = pattern_word(message, i);
    bytes[i] = pattern_byte(word, i);
  }
}

std::optional<std::size_t> first_difference(std::span<const std::byte> bytes,
                                            std::uint64_t message) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 8 == 0) word = pattern_word(message, i);
    if (bytes[i] != pattern_byte(word, i)) return i;
  }
  return std::nullopt;
}

}  // namespace hoccl::engine
