#include "engine/base/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

using Json = nlohmann::json;

/// Short enough for one line, whatever the file holds.
std::string printed(const Json& value) {
  constexpr std::size_t kMostPrinted = 60;
  // Only a container can be huge, and its type says enough.
  if (value.is_object()) return "{...}";
  if (value.is_array()) return "[...]";
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kMostPrinted) text = text.substr(0, kMostPrinted) + "...";
  return text;
}

[[noreturn]] void refuse_syntax(std::string_view text, const std::string& file, std::size_t byte) {
  const std::size_t end = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const auto before = text.substr(0, end);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string found =
      end >= text.size()
          ? "end of file"
          : Json(std::string(1, text[end])).dump(-1, ' ', true, Json::error_handler_t::replace);
  throw ConfigError(fmt::format("{}:{}:{}: found {}: expected valid JSON", file, line,
                                end - line_start + 1, found));
}

bool is_whole(const Json& number, std::int64_t low, std::int64_t high) {
  if (!number.is_number_integer()) return false;
  if (number.is_number_unsigned() &&
      number.get<std::uint64_t>() > static_cast<std::uint64_t>(std::max<std::int64_t>(high, 0))) {
    return false;
  }
  const auto value = number.get<std::int64_t>();
  return low <= value && value <= high;
}

}  // namespace

Json StrictJson::parse(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> seen;
  std::string twice;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key &&
        !seen.back().insert(parsed.get<std::string>()).second && twice.empty()) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json value;
  try {
    value = Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    refuse_syntax(text, file, error.byte);
  } catch (const Json::out_of_range&) {
    throw ConfigError(fmt::format("{}: expected numbers that a double can hold", file));
  }
  if (!twice.empty()) {
    throw ConfigError(
        fmt::format("{}: key '{}' occurs twice: expected each key once", file, twice));
  }
  if (!value.is_object()) {
    throw ConfigError(fmt::format("{}: {}: expected a JSON object", file, printed(value)));
  }
  return value;
}

StrictJson::StrictJson(const Json& value, std::string file, std::string path)
    : value_(value), file_(std::move(file)), path_(std::move(path)) {
  if (!value_.is_object()) {
    throw ConfigError(
        fmt::format("{}: key '{}' = {}: expected an object", file_, path_, printed(value_)));
  }
}

bool StrictJson::has(std::string_view key) const {
  return value_.find(std::string(key)) != value_.end();
}

std::string StrictJson::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void StrictJson::fail(std::string_view key, std::string_view expected) const {
  const auto found = value_.find(std::string(key));
  if (found == value_.end()) {
    throw ConfigError(
        fmt::format("{}: key '{}' is missing: expected {}", file_, path_of(key), expected));
  }
  throw ConfigError(fmt::format("{}: key '{}' = {}: expected {}", file_, path_of(key),
                                printed(*found), expected));
}

const Json& StrictJson::take(std::string_view key, std::string_view expected) {
  const auto found = value_.find(std::string(key));
  if (found == value_.end()) fail(key, expected);
  read_.emplace(key);
  return *found;
}

std::int64_t StrictJson::get_integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const std::string expected = fmt::format("a whole number from {} to {}", low, high);
  const Json& number = take(key, expected);
  if (!is_whole(number, low, high)) fail(key, expected);
  return number.get<std::int64_t>();
}

std::vector<std::int64_t> StrictJson::get_integers(std::string_view key, std::int64_t low,
                                                   std::int64_t high) {
  const std::string expected = fmt::format("an array of whole numbers from {} to {}", low, high);
  const Json& array = take(key, expected);
  if (!array.is_array()) fail(key, expected);
  std::vector<std::int64_t> numbers;
  for (const Json& number : array) {
    if (!is_whole(number, low, high)) fail(key, expected);
    numbers.push_back(number.get<std::int64_t>());
  }
  return numbers;
}

double StrictJson::get_number(std::string_view key, double low, double high) {
  const std::string expected = fmt::format("a number from {} to {}", low, high);
  const Json& number = take(key, expected);
  if (!number.is_number()) fail(key, expected);
  const auto value = number.get<double>();
  if (!(low <= value && value <= high)) fail(key, expected);
  return value;
}

std::string StrictJson::get_string(std::string_view key) {
  const Json& text = take(key, "a text");
  if (!text.is_string()) fail(key, "a text");
  return text.get<std::string>();
}

const Json& StrictJson::get_array(std::string_view key) {
  const Json& array = take(key, "an array");
  if (!array.is_array()) fail(key, "an array");
  return array;
}

const Json& StrictJson::get_object(std::string_view key) {
  const Json& object = take(key, "an object");
  if (!object.is_object()) fail(key, "an object");
  return object;
}

void StrictJson::finish() const {
  for (const auto& [key, value] : value_.items()) {
    if (read_.contains(key)) continue;
    throw ConfigError(fmt::format("{}: key '{}' = {}: expected no such key", file_, path_of(key),
                                  printed(value)));
  }
}

}  // namespace hoccl::engine
