#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace hoccl::engine {

/// Time and durations of the testbed. Points in time are seconds since the start of the run.
using Seconds = std::chrono::duration<double>;

/// A number of bytes, or an offset into a buffer. Signed, so that a negative input can be refused
/// instead of wrapping.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Bytes&) const = default;

  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};

/// A transfer rate. GB/s means 1e9 bytes per second, as in nccl-tests.
class BytesPerSecond {
 public:
  constexpr BytesPerSecond() = default;
  constexpr explicit BytesPerSecond(double value) : value_(value) {}

  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr auto operator<=>(const BytesPerSecond&) const = default;

 private:
  double value_ = 0.0;
};

constexpr Bytes operator+(Bytes left, Bytes right) { return Bytes(left.count() + right.count()); }
constexpr Bytes operator-(Bytes left, Bytes right) { return Bytes(left.count() - right.count()); }
constexpr Bytes operator*(Bytes size, std::int64_t factor) { return Bytes(size.count() * factor); }
constexpr Bytes operator*(std::int64_t factor, Bytes size) { return size * factor; }
/// Whole number of `part`s in `whole`, rounded down.
constexpr std::int64_t operator/(Bytes whole, Bytes part) { return whole.count() / part.count(); }
constexpr Bytes operator/(Bytes size, std::int64_t parts) { return Bytes(size.count() / parts); }
constexpr Bytes operator%(Bytes whole, Bytes part) { return Bytes(whole.count() % part.count()); }

constexpr Seconds operator/(Bytes size, BytesPerSecond rate) {
  return Seconds(static_cast<double>(size.count()) / rate.value());
}
constexpr BytesPerSecond operator/(Bytes size, Seconds time) {
  return BytesPerSecond(static_cast<double>(size.count()) / time.count());
}
constexpr BytesPerSecond operator*(BytesPerSecond rate, double factor) {
  return BytesPerSecond(rate.value() * factor);
}
constexpr BytesPerSecond operator+(BytesPerSecond left, BytesPerSecond right) {
  return BytesPerSecond(left.value() + right.value());
}
constexpr double operator/(BytesPerSecond left, BytesPerSecond right) {
  return left.value() / right.value();
}

/// Number of chunks of `chunk` bytes that cover `size` bytes.
constexpr std::int64_t chunk_count(Bytes size, Bytes chunk) {
  return (size.count() + chunk.count() - 1) / chunk.count();
}

constexpr double microseconds(Seconds time) { return time.count() * 1e6; }
constexpr double gigabytes_per_second(BytesPerSecond rate) { return rate.value() / 1e9; }

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return Bytes(static_cast<std::int64_t>(n)); }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 10);
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 20);
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return Bytes(static_cast<std::int64_t>(n) << 30);
}
constexpr Seconds operator""_us(long double n) { return Seconds(static_cast<double>(n) * 1e-6); }
constexpr Seconds operator""_us(unsigned long long n) {
  return Seconds(static_cast<double>(n) * 1e-6);
}
constexpr Seconds operator""_ms(unsigned long long n) {
  return Seconds(static_cast<double>(n) * 1e-3);
}
constexpr Seconds operator""_ms(long double n) { return Seconds(static_cast<double>(n) * 1e-3); }
constexpr BytesPerSecond operator""_GBps(long double n) {
  return BytesPerSecond(static_cast<double>(n) * 1e9);
}
constexpr BytesPerSecond operator""_GBps(unsigned long long n) {
  return BytesPerSecond(static_cast<double>(n) * 1e9);
}
}  // namespace literals

/// Parse a quantity with its unit: "2MiB", "512B", "1.5us", "50GB/s". A bare number, an unknown
/// unit or a negative or non-finite value throws ConfigError whose text says what was expected,
/// without naming the place; callers add file and key.
Bytes parse_bytes(std::string_view text);
Seconds parse_seconds(std::string_view text);
BytesPerSecond parse_rate(std::string_view text);

/// Print so that the parser reads the same value back: "2MiB", "1.5us", "50GB/s".
std::string to_string(Bytes size);
std::string to_string(Seconds time);
std::string to_string(BytesPerSecond rate);

}  // namespace hoccl::engine
