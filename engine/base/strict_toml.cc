#include "engine/base/strict_toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

constexpr std::string_view kStringExpected = "a string in quotes";
constexpr std::string_view kBoolExpected = "true or false";

/// Messages are one line whatever the input holds.
std::string one_line(std::string text) {
  for (char& letter : text) {
    if (static_cast<unsigned char>(letter) < 0x20) letter = ' ';
  }
  return text;
}

std::string shortened(std::string text) {
  constexpr std::size_t kLongest = 80;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

std::string print(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array_of_tables()) return "an array of tables";
  if (const toml::array* array = node.as_array()) {
    std::vector<std::string> elements;
    for (const toml::node& element : *array) elements.push_back(print(element));
    return fmt::format("[{}]", fmt::join(elements, ", "));
  }
  std::ostringstream out;
  node.visit([&out](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) out << value;
  });
  return one_line(out.str());
}

/// Levenshtein distance: single-letter insertions, deletions and replacements.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t replaced = diagonal + (left[i - 1] == right[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

struct StrictToml::State {
  std::shared_ptr<const toml::table> document;  // keeps `table` alive
  const toml::table* table = nullptr;
  std::string file;
  std::string prefix;                                // "a.b." of the tables above
  mutable std::set<std::string, std::less<>> known;  // every key that was asked for

  const toml::node* find(std::string_view key) const {
    known.emplace(key);
    return table->get(key);
  }

  [[noreturn]] void fail(std::string_view key, std::string_view text) const {
    const toml::node* node = table->get(key);
    const std::string value = node == nullptr ? "is missing" : "= " + shortened(print(*node));
    throw ConfigError(fmt::format("{}: key '{}{}' {}: {}", file, prefix,
                                  one_line(shortened(std::string(key))), value, text));
  }

  [[noreturn]] void fail_expected(std::string_view key, std::string_view expected) const {
    fail(key, fmt::format("expected {}", expected));
  }

  /// A value of exactly this TOML type: an integer is not a float, and nothing is a string.
  template <class Value>
  Value get(std::string_view key, std::string_view expected) const {
    const toml::node* node = find(key);
    if (node == nullptr) fail_expected(key, expected);
    const std::optional<Value> value = node->value_exact<Value>();
    if (!value) fail_expected(key, expected);
    return *value;
  }

  const toml::array& get_array(std::string_view key, std::string_view expected) const {
    const toml::node* node = find(key);
    if (node == nullptr || !node->is_array()) fail_expected(key, expected);
    return *node->as_array();
  }

  /// A string that `parse` turns into a quantity; its own words say what is wrong.
  template <class Parse>
  auto get_quantity(std::string_view key, std::string_view expected, Parse parse) const {
    const auto text = get<std::string>(key, expected);
    try {
      return parse(text);
    } catch (const ConfigError& error) {
      fail(key, one_line(error.what()));
    }
  }

  /// The known key that `unknown` may have been meant as, or empty.
  std::string_view closest(std::string_view unknown) const {
    std::string_view best;
    std::size_t best_distance = std::max<std::size_t>(1, unknown.size() / 3) + 1;
    for (const std::string& candidate : known) {
      const std::size_t distance = edit_distance(unknown, candidate);
      if (distance < best_distance) {
        best = candidate;
        best_distance = distance;
      }
    }
    return best;
  }

  std::unique_ptr<State> child(const toml::table& table_below, std::string prefix_below) const {
    auto result = std::make_unique<State>();
    result->document = document;
    result->table = &table_below;
    result->file = file;
    result->prefix = std::move(prefix_below);
    return result;
  }
};

StrictToml::StrictToml(std::unique_ptr<State> state) : state_(std::move(state)) {}
StrictToml::StrictToml(StrictToml&&) noexcept = default;
StrictToml& StrictToml::operator=(StrictToml&&) noexcept = default;
StrictToml::~StrictToml() = default;

StrictToml StrictToml::open(const std::filesystem::path& file, std::int64_t schema_version) {
  const std::string name = one_line(file.string());
  std::error_code ignored;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file, ignored)) {
    throw ConfigError(fmt::format("{}: cannot be opened: expected a readable TOML file", name));
  }
  const std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  return parse(text, name, schema_version);
}

StrictToml StrictToml::parse(std::string_view text, const std::string& name,
                             std::int64_t schema_version) {
  auto state = std::make_unique<State>();
  state->file = name;
  try {
    state->document = std::make_shared<const toml::table>(toml::parse(text));
  } catch (const toml::parse_error& error) {
    throw ConfigError(fmt::format("{}: line {}: {}: expected valid TOML", name,
                                  error.source().begin.line,
                                  one_line(std::string(error.description()))));
  }
  state->table = state->document.get();
  const std::string expected = fmt::format("{}, the version this program reads", schema_version);
  if (state->get<std::int64_t>("schema", expected) != schema_version) {
    state->fail_expected("schema", expected);
  }
  return StrictToml(std::move(state));
}

bool StrictToml::has(std::string_view key) const { return state_->find(key) != nullptr; }

bool StrictToml::is_list(std::string_view key) const {
  const toml::node* node = state_->find(key);
  return node != nullptr && node->is_array();
}

std::string StrictToml::get_string(std::string_view key) {
  return state_->get<std::string>(key, kStringExpected);
}

bool StrictToml::get_bool(std::string_view key) { return state_->get<bool>(key, kBoolExpected); }

std::int64_t StrictToml::get_integer(std::string_view key, std::int64_t low, std::int64_t high) {
  const std::string expected = fmt::format("a whole number from {} to {}", low, high);
  const auto value = state_->get<std::int64_t>(key, expected);
  if (value < low || value > high) state_->fail_expected(key, expected);
  return value;
}

double StrictToml::get_number(std::string_view key, double low, double high) {
  const std::string expected = fmt::format("a number from {} to {}", low, high);
  const toml::node* node = state_->find(key);
  if (node == nullptr || !node->is_number()) state_->fail_expected(key, expected);
  const double value = node->value<double>().value_or(0.0);
  // Written so that NaN fails too.
  if (!(value >= low && value <= high)) state_->fail_expected(key, expected);
  return value;
}

Bytes StrictToml::get_bytes(std::string_view key) {
  return state_->get_quantity(key, "a size with a unit in quotes, such as \"2MiB\"", parse_bytes);
}

Seconds StrictToml::get_seconds(std::string_view key) {
  return state_->get_quantity(key, "a time with a unit in quotes, such as \"1.5us\"",
                              parse_seconds);
}

BytesPerSecond StrictToml::get_rate(std::string_view key) {
  return state_->get_quantity(key, "a rate with a unit in quotes, such as \"50GB/s\"", parse_rate);
}

std::vector<std::int64_t> StrictToml::get_integers(std::string_view key, std::int64_t low,
                                                   std::int64_t high) {
  const std::string expected = fmt::format("a list of whole numbers from {} to {}", low, high);
  std::vector<std::int64_t> result;
  for (const toml::node& node : state_->get_array(key, expected)) {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < low || *value > high) state_->fail_expected(key, expected);
    result.push_back(*value);
  }
  return result;
}

std::vector<std::string> StrictToml::get_strings(std::string_view key) {
  constexpr std::string_view kExpected = "a list of strings in quotes";
  std::vector<std::string> result;
  for (const toml::node& node : state_->get_array(key, kExpected)) {
    auto value = node.value_exact<std::string>();
    if (!value) state_->fail_expected(key, kExpected);
    result.push_back(std::move(*value));
  }
  return result;
}

StrictToml StrictToml::get_table(std::string_view key) {
  const std::string expected = fmt::format("a table [{}{}]", state_->prefix, key);
  const toml::node* node = state_->find(key);
  if (node == nullptr || !node->is_table()) state_->fail_expected(key, expected);
  return StrictToml(state_->child(*node->as_table(), fmt::format("{}{}.", state_->prefix, key)));
}

std::vector<StrictToml> StrictToml::get_tables(std::string_view key) {
  std::vector<StrictToml> result;
  if (!has(key)) return result;
  const std::string expected = fmt::format("tables [[{}{}]]", state_->prefix, key);
  const toml::array& array = state_->get_array(key, expected);
  for (std::size_t i = 0; i < array.size(); ++i) {
    if (!array[i].is_table()) state_->fail_expected(key, expected);
    result.push_back(StrictToml(
        state_->child(*array[i].as_table(), fmt::format("{}{}[{}].", state_->prefix, key, i))));
  }
  return result;
}

std::vector<std::string> StrictToml::keys() const {
  std::vector<std::string> result;
  for (const auto& [key, value] : *state_->table) result.emplace_back(key.str());
  return result;
}

void StrictToml::finish() const {
  for (const auto& [key, value] : *state_->table) {
    if (state_->known.contains(key.str())) continue;
    const std::string_view meant = state_->closest(key.str());
    if (!meant.empty()) {
      state_->fail(key.str(), fmt::format("unknown key; did you mean '{}'?", meant));
    }
    state_->fail(key.str(),
                 fmt::format("unknown key; expected one of {}", fmt::join(state_->known, ", ")));
  }
}

void StrictToml::fail(std::string_view key, std::string_view expected) const {
  state_->fail_expected(key, expected);
}

}  // namespace hoccl::engine
