#include "hw/link/introduction.h"

#include <gtest/gtest.h>

#include <string>

namespace hoccl::hw {
namespace {

LinkIntroduction introduction() {
  LinkIntroduction result;
  result.nics.resize(2);
  result.nics[1].mtu_bytes = 1024;
  result.serving = {0, 1, 0, 1};
  LinkIntroduction::Place& place = result.places.emplace_back();
  place.place = engine::PlaceId(3);
  place.address = 0x1000;
  place.keys[1] = 42;
  return result;
}

TEST(LinkIntroduction, IsReadAsItWasWritten) {
  const std::string bytes = encode(introduction());
  const auto read = decode_introduction(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->nics.at(1).mtu_bytes, 1024U);
  EXPECT_EQ(read->serving, introduction().serving);
  EXPECT_EQ(read->places.at(0).place, engine::PlaceId(3));
  EXPECT_EQ(read->places.at(0).keys[1], 42U);
  EXPECT_EQ(encode(*read), bytes);
}

TEST(LinkIntroduction, OfAnotherSizeIsRefused) {
  const std::string bytes = encode(introduction());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_introduction(bytes.substr(0, size)));
  }
  EXPECT_FALSE(decode_introduction(bytes + "x"));
}

TEST(LinkIntroduction, WithHugeCountsIsRefused) {
  // Behind the magic: how many NICs, serving NICs and places.
  for (const std::size_t count : {4U, 8U, 12U}) {
    std::string bytes = encode(introduction());
    bytes.replace(count, 4, "\xff\xff\xff\xff");
    EXPECT_FALSE(decode_introduction(bytes));
  }
}

TEST(LinkIntroduction, IsServedByNicsThatItHas) {
  LinkIntroduction wrong = introduction();
  wrong.serving[2] = 2;
  EXPECT_FALSE(decode_introduction(encode(wrong)));
}

TEST(LinkIntroduction, HasNoNegativePlace) {
  LinkIntroduction wrong = introduction();
  wrong.places[0].place = engine::PlaceId(-1);
  EXPECT_FALSE(decode_introduction(encode(wrong)));
}

}  // namespace
}  // namespace hoccl::hw
