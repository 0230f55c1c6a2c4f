#include "experiments/hoccl/option_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "engine/base/config_error.h"

namespace hoccl::cli {

using engine::Bytes;
using engine::ConfigError;
using engine::Seconds;

template <class Integer>
Integer parse_integer(const std::string& option, const std::string& text, Integer low,
                      Integer high) {
  Integer value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    throw ConfigError(
        fmt::format("{} = '{}': expected a whole number from {} to {}", option, text, low, high));
  }
  return value;
}
template int parse_integer(const std::string&, const std::string&, int, int);
template std::uint64_t parse_integer(const std::string&, const std::string&, std::uint64_t,
                                     std::uint64_t);

namespace {

/// `parser` of units.h, with the option's name in its error.
template <class Quantity>
Quantity parse_quantity(const std::string& option, const std::string& word,
                        Quantity (*parser)(std::string_view)) {
  try {
    return parser(word);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{} = {}", option, error.what()));
  }
}

Seconds parse_time(const std::string& option, const std::string& word) {
  const Seconds value = parse_quantity(option, word, engine::parse_seconds);
  if (value <= Seconds(0.0)) {
    throw ConfigError(fmt::format("{} = '{}': expected a time above zero", option, word));
  }
  return value;
}

}  // namespace

CLI::Option* OptionReader::text(const std::string& names, std::string& value,
                                const std::string& help) {
  return add(names, help, [&value](const std::string&, const std::string& word) { value = word; })
      ->default_str(value)
      ->type_name("NAME");
}

CLI::Option* OptionReader::file(const std::string& names, std::string& value,
                                const std::string& help) {
  return text(names, value, help)->type_name("FILE");
}

CLI::Option* OptionReader::integer(const std::string& names, std::optional<int>& value, int low,
                                   int high, const std::string& help) {
  return add(names, help,
             [&value, low, high](const std::string& option, const std::string& word) {
               value = parse_integer(option, word, low, high);
             })
      ->type_name("N");
}

CLI::Option* OptionReader::percent(const std::string& names, double& share,
                                   const std::string& help) {
  return add(names, help,
             [&share](const std::string& option, const std::string& word) {
               std::string_view number = word;
               if (number.ends_with('%')) number.remove_suffix(1);
               double value = -1.0;
               const char* last = number.data() + number.size();
               const auto [end, error] = std::from_chars(number.data(), last, value);
               if (error != std::errc() || end != last || !(value >= 0.0 && value < 100.0)) {
                 throw ConfigError(fmt::format(
                     "{} = '{}': expected a percentage from 0 to below 100", option, word));
               }
               share = value / 100.0;
             })
      ->type_name("PERCENT");
}

CLI::Option* OptionReader::size(const std::string& names, Bytes& value, const std::string& help) {
  return add(names, help,
             [&value](const std::string& option, const std::string& word) {
               value = parse_quantity(option, word, engine::parse_bytes);
               if (value < Bytes(1)) {
                 throw ConfigError(fmt::format("{} = '{}': expected 1B or more", option, word));
               }
             })
      ->default_str(engine::to_string(value))
      ->type_name("QUANTITY");
}

CLI::Option* OptionReader::time(const std::string& names, Seconds& value, const std::string& help) {
  return add(names, help,
             [&value](const std::string& option, const std::string& word) {
               value = parse_time(option, word);
             })
      ->default_str(engine::to_string(value))
      ->type_name("QUANTITY");
}

CLI::Option* OptionReader::time(const std::string& names, std::optional<Seconds>& value,
                                const std::string& help) {
  return add(names, help,
             [&value](const std::string& option, const std::string& word) {
               value = parse_time(option, word);
             })
      ->type_name("QUANTITY");
}

CLI::Option* OptionReader::rate(const std::string& names,
                                std::optional<engine::BytesPerSecond>& value,
                                const std::string& help) {
  return add(names, help,
             [&value](const std::string& option, const std::string& word) {
               value = parse_quantity(option, word, engine::parse_rate);
               if (*value <= engine::BytesPerSecond(0.0)) {
                 throw ConfigError(
                     fmt::format("{} = '{}': expected a rate above zero", option, word));
               }
             })
      ->type_name("QUANTITY");
}

CLI::Option* OptionReader::on_off(const std::string& names, bool& value, const std::string& help) {
  return add(names, help,
             [&value](const std::string& option, const std::string& word) {
               if (word != "on" && word != "off") {
                 throw ConfigError(fmt::format("{} = '{}': expected on or off", option, word));
               }
               value = word == "on";
             })
      ->default_str(value ? "on" : "off")
      ->type_name("on|off");
}

CLI::Option* OptionReader::flag(const std::string& name, bool& value, const std::string& help) {
  return app_.add_flag(name, value, help);
}

CLI::Option* OptionReader::list(const std::string& names, std::vector<std::string>& values,
                                const std::string& help) {
  return app_.add_option(names, values, help)->allow_extra_args(false)->type_name("KEY=VALUE");
}

}  // namespace hoccl::cli
