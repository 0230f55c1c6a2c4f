#include "engine/base/units.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <limits>

#include "engine/base/config_error.h"
#include "engine/base/random.h"

namespace hoccl::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

static_assert(!std::convertible_to<int, Bytes>);
static_assert(!std::convertible_to<double, BytesPerSecond>);
static_assert(!std::convertible_to<Bytes, BytesPerSecond>);

template <class Left, class Right>
concept Addable = requires(Left left, Right right) {
  left + right;
};
static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, BytesPerSecond>);
static_assert(!Addable<Bytes, int>);

TEST(Units, DividingBytesByARateGivesATime) {
  const Seconds time = 100_MiB / 50_GBps;
  EXPECT_DOUBLE_EQ(time.count(), 100.0 * 1024 * 1024 / 50e9);
  EXPECT_DOUBLE_EQ((100_MiB / time).value(), 50e9);
}

TEST(Units, ChunkCountRoundsUp) {
  EXPECT_EQ(chunk_count(4_MiB, 2_MiB), 2);
  EXPECT_EQ(chunk_count(4_MiB + 1_B, 2_MiB), 3);
  EXPECT_EQ(chunk_count(1_B, 2_MiB), 1);
  EXPECT_EQ(chunk_count(0_B, 2_MiB), 0);
}

TEST(Units, BinaryAndDecimalSizesDiffer) {
  EXPECT_EQ(parse_bytes("2MiB"), Bytes(2 * 1024 * 1024));
  EXPECT_EQ(parse_bytes("2MB"), Bytes(2'000'000));
  EXPECT_EQ(parse_bytes("1GiB"), 1_GiB);
  EXPECT_EQ(parse_bytes("0B"), 0_B);
  EXPECT_EQ(parse_bytes("1.5KiB"), Bytes(1536));
  EXPECT_EQ(parse_bytes("512 KiB"), 512_KiB);
}

TEST(Units, TimesAndRatesScaleByTheirUnit) {
  EXPECT_DOUBLE_EQ(parse_seconds("1.5us").count(), 1.5e-6);
  EXPECT_DOUBLE_EQ(parse_seconds("20ms").count(), 20e-3);
  EXPECT_DOUBLE_EQ(parse_seconds("300ns").count(), 300e-9);
  EXPECT_DOUBLE_EQ(parse_seconds("2s").count(), 2.0);
  EXPECT_DOUBLE_EQ(parse_rate("50GB/s").value(), 50e9);
  EXPECT_DOUBLE_EQ(parse_rate("400Gb/s").value(), 400e9 / 8);
  EXPECT_DOUBLE_EQ(parse_rate("2.1TB/s").value(), 2.1e12);
}

TEST(Units, BareNumbersAreRefused) {
  EXPECT_THAT([] { parse_bytes("5"); },
              ThrowsMessage<ConfigError>(HasSubstr("'5' has no unit; expected a size")));
  EXPECT_THAT([] { parse_seconds("1.5"); },
              ThrowsMessage<ConfigError>(HasSubstr("'1.5' has no unit; expected a time")));
  EXPECT_THAT([] { parse_rate("50"); },
              ThrowsMessage<ConfigError>(HasSubstr("'50' has no unit; expected a rate")));
}

TEST(Units, UnknownUnitsNegativesAndNonNumbersAreRefused) {
  EXPECT_THAT([] { parse_bytes("5mib"); },
              ThrowsMessage<ConfigError>(HasSubstr("the unknown unit 'mib'")));
  EXPECT_THAT([] { parse_rate("50GiB/s"); },
              ThrowsMessage<ConfigError>(HasSubstr("the unknown unit 'GiB/s'")));
  EXPECT_THAT([] { parse_bytes("-1B"); }, ThrowsMessage<ConfigError>(HasSubstr("is negative")));
  EXPECT_THAT([] { parse_seconds("infs"); }, ThrowsMessage<ConfigError>(HasSubstr("not finite")));
  EXPECT_THAT([] { parse_seconds("nan us"); }, ThrowsMessage<ConfigError>(HasSubstr("not finite")));
  EXPECT_THAT([] { parse_bytes(""); }, ThrowsMessage<ConfigError>(HasSubstr("'' is not a size")));
  EXPECT_THAT([] { parse_bytes("MiB"); },
              ThrowsMessage<ConfigError>(HasSubstr("'MiB' is not a size")));
  EXPECT_THAT([] { parse_bytes("1.5B"); },
              ThrowsMessage<ConfigError>(HasSubstr("not a whole number of bytes")));
  EXPECT_THAT([] { parse_bytes("9999999999TiB"); },
              ThrowsMessage<ConfigError>(HasSubstr("not a whole number of bytes")));
}

TEST(Units, SizesPrintInTheLargestUnitThatIsExact) {
  EXPECT_EQ(to_string(2_MiB), "2MiB");
  EXPECT_EQ(to_string(1_GiB), "1GiB");
  EXPECT_EQ(to_string(1536_KiB), "1536KiB");
  EXPECT_EQ(to_string(2_MiB + 1_B), "2097153B");
  EXPECT_EQ(to_string(0_B), "0B");
}

TEST(Units, RatesAndTimesPrintAsPeopleWriteThem) {
  EXPECT_EQ(to_string(50_GBps), "50GB/s");
  EXPECT_EQ(to_string(55.3_GBps), "55.3GB/s");
  EXPECT_EQ(to_string(1.5_us), "1.5us");
  EXPECT_EQ(to_string(Seconds(0.25)), "250ms");
}

TEST(Units, EverySizePrintedIsReadBackExactly) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    // The parser goes through double, whose whole numbers are exact up to 2^53.
    const Bytes size(random.between(0, std::int64_t{1} << random.between(0, 53)));
    ASSERT_EQ(parse_bytes(to_string(size)), size) << to_string(size);
  }
}

TEST(Units, EveryTimeAndRatePrintedIsReadBackToTheLastBits) {
  Random random(2);
  // One division when printing and one product when reading: two roundings.
  constexpr double kRelative = 2 * std::numeric_limits<double>::epsilon();
  for (int i = 0; i < 10'000; ++i) {
    const Seconds time(random.uniform() *
                       std::pow(10.0, static_cast<double>(random.between(-9, 3))));
    ASSERT_NEAR(parse_seconds(to_string(time)).count(), time.count(), time.count() * kRelative)
        << to_string(time);
    const BytesPerSecond rate(random.uniform() *
                              std::pow(10.0, static_cast<double>(random.between(0, 14))));
    ASSERT_NEAR(parse_rate(to_string(rate)).value(), rate.value(), rate.value() * kRelative)
        << to_string(rate);
  }
}

}  // namespace
}  // namespace hoccl::engine
