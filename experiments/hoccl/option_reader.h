#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::cli {

/// A whole number within [low, high]; ConfigError naming the option otherwise.
template <class Integer>
Integer parse_integer(const std::string& option, const std::string& text, Integer low,
                      Integer high);
extern template int parse_integer(const std::string&, const std::string&, int, int);
extern template std::uint64_t parse_integer(const std::string&, const std::string&, std::uint64_t,
                                            std::uint64_t);

/// Adds options to one verb. Values are read as text, so that every error has our wording. Includes
/// CLI11: for .cc files only.
class OptionReader {
 public:
  explicit OptionReader(CLI::App& app) : app_(app) {}

  CLI::Option* text(const std::string& names, std::string& value, const std::string& help);
  CLI::Option* file(const std::string& names, std::string& value, const std::string& help);
  template <class Integer>
  CLI::Option* integer(const std::string& names, Integer& value, Integer low, Integer high,
                       const std::string& help) {
    return add(names, help,
               [&value, low, high](const std::string& option, const std::string& word) {
                 value = parse_integer<Integer>(option, word, low, high);
               })
        ->default_str(std::to_string(value))
        ->type_name("N");
  }
  /// Without a default.
  CLI::Option* integer(const std::string& names, std::optional<int>& value, int low, int high,
                       const std::string& help);
  /// A share in percent from 0 to below 100: "5" or "5%" is 0.05.
  CLI::Option* percent(const std::string& names, double& share, const std::string& help);
  CLI::Option* size(const std::string& names, engine::Bytes& value, const std::string& help);
  CLI::Option* time(const std::string& names, engine::Seconds& value, const std::string& help);
  CLI::Option* time(const std::string& names, std::optional<engine::Seconds>& value,
                    const std::string& help);
  CLI::Option* rate(const std::string& names, std::optional<engine::BytesPerSecond>& value,
                    const std::string& help);
  CLI::Option* on_off(const std::string& names, bool& value, const std::string& help);
  CLI::Option* flag(const std::string& name, bool& value, const std::string& help);
  /// May be given several times.
  CLI::Option* list(const std::string& names, std::vector<std::string>& values,
                    const std::string& help);

 private:
  /// "-b,--begin" -> "--begin".
  static std::string long_name(const std::string& names) { return names.substr(names.find("--")); }
  template <class Read>
  CLI::Option* add(const std::string& names, const std::string& help, Read read) {
    const std::string option = long_name(names);
    return app_.add_option_function<std::string>(
        names, [option, read](const std::string& word) { read(option, word); }, help);
  }

  CLI::App& app_;
};

}  // namespace hoccl::cli
