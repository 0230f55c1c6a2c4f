#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::engine {

/// One table of a TOML file whose every key must be read: `finish()` refuses the keys nobody
/// asked for. Every error is a ConfigError of one line: "FILE: key 'a.b' = VALUE: expected ...".
/// toml++ stays in strict_toml.cc so that its compile time is paid once.
class StrictToml {
 public:
  /// Reads the file; checks that `schema` is there and equals `schema_version`.
  static StrictToml open(const std::filesystem::path& file, std::int64_t schema_version);
  /// The same from text; `name` stands for the file in messages.
  static StrictToml parse(std::string_view text, const std::string& name,
                          std::int64_t schema_version);

  StrictToml(StrictToml&&) noexcept;
  StrictToml& operator=(StrictToml&&) noexcept;
  ~StrictToml();

  /// Asking makes the key a known one, so `finish()` does not refuse it.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] bool is_list(std::string_view key) const;

  std::string get_string(std::string_view key);
  bool get_bool(std::string_view key);
  /// A whole number within [low, high].
  std::int64_t get_integer(std::string_view key, std::int64_t low, std::int64_t high);
  /// A plain number within [low, high] (fractions, ratios; never a quantity with a unit).
  double get_number(std::string_view key, double low, double high);
  Bytes get_bytes(std::string_view key);
  Seconds get_seconds(std::string_view key);
  BytesPerSecond get_rate(std::string_view key);
  std::vector<std::int64_t> get_integers(std::string_view key, std::int64_t low, std::int64_t high);
  std::vector<std::string> get_strings(std::string_view key);

  /// A sub-table, which has its own `finish()`. Missing: error.
  StrictToml get_table(std::string_view key);
  /// An array of tables ([[key]]); empty when the key is absent.
  std::vector<StrictToml> get_tables(std::string_view key);
  /// Names of the keys of this table, in file order of toml++ (sorted by name).
  [[nodiscard]] std::vector<std::string> keys() const;

  /// Refuses keys that were not read, with a suggestion when one is close to a read key.
  void finish() const;

  /// Throws the one-line error about `key`: "FILE: key 'k' = VALUE: expected `expected`".
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  struct State;
  explicit StrictToml(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hoccl::engine
