#include "hw/run/byte_check.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <vector>

namespace hoccl::hw {
namespace {

using engine::Rank;

constexpr std::size_t kSize = 1003;  // not whole words

std::vector<std::byte> filled(const ByteMessage& message) {
  std::vector<std::byte> bytes(kSize);
  message.fill(bytes);
  return bytes;
}

TEST(ByteMessage, EveryPartOfItIsRecognisedAtItsOffsetOnly) {
  const ByteMessage message(1, Rank(2), 3);
  const std::vector<std::byte> bytes = filled(message);
  for (const std::size_t offset : {0, 1, 7, 8, 500, 1002}) {
    const auto part = std::span(bytes).subspan(offset);
    EXPECT_FALSE(message.difference(part, offset)) << offset;
    if (part.size() >= 8) {
      EXPECT_TRUE(message.difference(part, offset + 8)) << offset;
    }
  }
}

TEST(ByteMessage, EveryWrongByteIsFound) {
  const ByteMessage message(1, Rank(0), 1);
  std::vector<std::byte> bytes = filled(message);
  for (std::size_t i = 0; i < kSize; ++i) {
    bytes[i] ^= std::byte{1};
    const auto difference = message.difference(bytes, 0);
    ASSERT_TRUE(difference) << i;
    EXPECT_EQ(difference->position, i);
    EXPECT_EQ(difference->found, bytes[i]);
    EXPECT_EQ(difference->expected, bytes[i] ^ std::byte{1});
    bytes[i] ^= std::byte{1};
  }
}

TEST(ByteMessage, TellsSeedSourceAndOperationApart) {
  const std::vector<std::byte> bytes = filled(ByteMessage(1, Rank(2), 3));
  EXPECT_TRUE(ByteMessage(2, Rank(2), 3).difference(bytes, 0));
  EXPECT_TRUE(ByteMessage(1, Rank(3), 3).difference(bytes, 0));
  EXPECT_TRUE(ByteMessage(1, Rank(2), 4).difference(bytes, 0));
}

}  // namespace
}  // namespace hoccl::hw
