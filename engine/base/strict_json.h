#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hoccl::engine {

/// One object of a JSON file whose every key must be read, as StrictToml is for TOML. Errors are
/// ConfigErrors of one line "FILE: key 'a[1].b' = VALUE: expected ...". Includes nlohmann's header:
/// for .cc files only.
class StrictJson {
 public:
  /// Parses text that must be one object. Refuses a key that occurs twice.
  static nlohmann::json parse(std::string_view text, const std::string& file);

  /// `path` is the object's place in the file ("" for the whole, "transfers[3]"). Keeps a
  /// reference to `value`.
  StrictJson(const nlohmann::json& value, std::string file, std::string path);

  [[nodiscard]] bool has(std::string_view key) const;
  /// A whole number within [low, high].
  std::int64_t get_integer(std::string_view key, std::int64_t low, std::int64_t high);
  /// An array of whole numbers within [low, high].
  std::vector<std::int64_t> get_integers(std::string_view key, std::int64_t low, std::int64_t high);
  /// A number within [low, high].
  double get_number(std::string_view key, double low, double high);
  std::string get_string(std::string_view key);
  const nlohmann::json& get_array(std::string_view key);
  const nlohmann::json& get_object(std::string_view key);

  /// Refuses keys that were not read.
  void finish() const;
  /// Throws the one-line error about `key`.
  [[noreturn]] void fail(std::string_view key, std::string_view expected) const;

 private:
  const nlohmann::json& take(std::string_view key, std::string_view expected);
  [[nodiscard]] std::string path_of(std::string_view key) const;

  const nlohmann::json& value_;
  std::string file_;
  std::string path_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace hoccl::engine
