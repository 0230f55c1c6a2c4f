#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace hoccl::engine {

/// Fills memory so that every 8-byte word tells message and position: a chunk in the wrong place,
/// twice or of another message is seen.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t message);

/// The first offset where the bytes differ from the pattern of `message`.
std::optional<std::size_t> first_difference(std::span<const std::byte> bytes,
                                            std::uint64_t message);

}  // namespace hoccl::engine
