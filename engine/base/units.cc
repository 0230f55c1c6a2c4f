#include "engine/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kByteUnits = {Unit{"B", 1.0},      Unit{"KiB", 1024.0}, Unit{"MiB", 0x1p20},
                                   Unit{"GiB", 0x1p30}, Unit{"TiB", 0x1p40}, Unit{"kB", 1e3},
                                   Unit{"MB", 1e6},     Unit{"GB", 1e9}};
constexpr std::array kTimeUnits = {Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3},
                                   Unit{"s", 1.0}};
constexpr std::array kRateUnits = {Unit{"B/s", 1.0},      Unit{"kB/s", 1e3},  Unit{"MB/s", 1e6},
                                   Unit{"GB/s", 1e9},     Unit{"TB/s", 1e12}, Unit{"Gb/s", 1e9 / 8},
                                   Unit{"Tb/s", 1e12 / 8}};

struct Number {
  double value;
  std::string_view unit;
};

std::optional<Number> split(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return Number{value, text};
}

/// `what` is "a size such as 2MiB"; the caller's message continues it.
double parse(std::string_view text, std::span<const Unit> units, std::string_view what) {
  const std::optional<Number> number = split(text);
  if (!number) throw ConfigError(fmt::format("'{}' is not {}", text, what));
  if (number->unit.empty()) {
    throw ConfigError(fmt::format("'{}' has no unit; expected {}", text, what));
  }
  if (!std::isfinite(number->value) || std::signbit(number->value)) {
    throw ConfigError(fmt::format("'{}' is negative or not finite; expected {}", text, what));
  }
  for (const Unit& unit : units) {
    if (unit.name == number->unit) return number->value * unit.factor;
  }
  throw ConfigError(
      fmt::format("'{}' has the unknown unit '{}'; expected {}", text, number->unit, what));
}

/// The largest unit that divides the value without a remainder a reader would notice.
std::string print(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (value >= unit.factor && unit.factor >= best->factor) best = &unit;
  }
  return fmt::format("{}{}", value / best->factor, best->name);
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  constexpr std::string_view kWhat = "a size with a unit, such as 2MiB";
  const double value = parse(text, kByteUnits, kWhat);
  if (value != std::floor(value) || value > 0x1p62) {
    throw ConfigError(fmt::format("'{}' is not a whole number of bytes; expected {}", text, kWhat));
  }
  return Bytes(static_cast<std::int64_t>(value));
}

Seconds parse_seconds(std::string_view text) {
  return Seconds(parse(text, kTimeUnits, "a time with a unit, such as 1.5us"));
}

BytesPerSecond parse_rate(std::string_view text) {
  return BytesPerSecond(parse(text, kRateUnits, "a rate with a unit, such as 50GB/s"));
}

std::string to_string(Bytes size) {
  constexpr std::array kBinary = {Unit{"TiB", 0x1p40}, Unit{"GiB", 0x1p30}, Unit{"MiB", 0x1p20},
                                  Unit{"KiB", 1024.0}};
  for (const Unit& unit : kBinary) {
    const auto factor = static_cast<std::int64_t>(unit.factor);
    if (size.count() != 0 && size.count() % factor == 0) {
      return fmt::format("{}{}", size.count() / factor, unit.name);
    }
  }
  return fmt::format("{}B", size.count());
}

std::string to_string(Seconds time) { return print(time.count(), kTimeUnits); }

std::string to_string(BytesPerSecond rate) {
  constexpr std::array kPrinted = {Unit{"B/s", 1.0}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9}};
  return print(rate.value(), kPrinted);
}

}  // namespace hoccl::engine
