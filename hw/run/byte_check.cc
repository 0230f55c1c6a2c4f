#include "hw/run/byte_check.h"

#include <algorithm>
#include <cstring>

#include "engine/base/random.h"

namespace hoccl::hw {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

}  // namespace

ByteMessage::ByteMessage(std::uint64_t seed, engine::Rank source, std::uint64_t operation)
    : key_(engine::Random(engine::Random(seed ^ (operation << 20)).next() ^
                          static_cast<std::uint64_t>(source.value()))
               .next()) {}

std::uint64_t ByteMessage::word(std::size_t index) const {
  return engine::Random(key_ + index).next();
}

std::byte ByteMessage::byte_at(std::size_t position) const {
  return static_cast<std::byte>((word(position / kWord) >> (8 * (position % kWord))) & 0xff);
}

void ByteMessage::fill(std::span<std::byte> send_buffer) const {
  std::size_t position = 0;
  for (; position + kWord <= send_buffer.size(); position += kWord) {
    const std::uint64_t value = word(position / kWord);
    std::memcpy(send_buffer.data() + position, &value, kWord);
  }
  for (; position < send_buffer.size(); ++position) send_buffer[position] = byte_at(position);
}

auto ByteMessage::difference(std::span<const std::byte> received, std::size_t offset) const
    -> std::optional<Difference> {
  std::size_t position = 0;
  while (position < received.size()) {
    const std::size_t place = offset + position;
    if (place % kWord == 0 && position + kWord <= received.size()) {
      const std::uint64_t value = word(place / kWord);
      if (std::memcmp(received.data() + position, &value, kWord) == 0) {
        position += kWord;
        continue;
      }
    }
    // A word that is cut off or wrong: byte by byte to its end.
    const std::size_t end = std::min(position + kWord - place % kWord, received.size());
    for (; position < end; ++position) {
      const std::byte expected = byte_at(offset + position);
      if (received[position] != expected) return Difference{position, expected, received[position]};
    }
  }
  return std::nullopt;
}

}  // namespace hoccl::hw
