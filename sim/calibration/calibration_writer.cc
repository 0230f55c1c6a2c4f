#include "sim/calibration/calibration_writer.h"

#include <fmt/ostream.h>

#include <string>

#include "sim/calibration/constants.h"

namespace hoccl::sim {
namespace {

/// A basic string of TOML, on one line.
std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned char>(letter));
    } else {
      result += letter;
    }
  }
  return result + '"';
}

/// 1.1e-6 s prints as "1.0999999999999999us": fewer digits say the same where they are read back as
/// the same value.
template <class Quantity>
std::string shortest(Quantity value, double in_unit, std::string_view unit,
                     Quantity (*parse)(std::string_view)) {
  for (int digits = 1; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}g}{}", in_unit, digits, unit);
    if (text.find('e') == std::string::npos && parse(text) == value) return text;
  }
  return engine::to_string(value);
}

std::string toml(engine::Seconds value) {
  return toml_string(shortest(value, engine::microseconds(value), "us", engine::parse_seconds));
}
std::string toml(engine::BytesPerSecond value) {
  return toml_string(
      shortest(value, engine::gigabytes_per_second(value), "GB/s", engine::parse_rate));
}
std::string toml(engine::Bytes value) { return toml_string(engine::to_string(value)); }
std::string toml(std::int64_t value) { return fmt::format("{}", value); }
std::string toml(double value) { return fmt::format("{:#}", value); }

}  // namespace

void write_calibration(std::ostream& stream, const Calibration& calibration,
                       std::string_view remark) {
  fmt::print(stream,
             "# {}\n# Constants of the model. `kind` is \"input\" (measured, known or assumed) or "
             "\"fitted\" (chosen so\n# that the named figure matches).\nschema = 1\nmachine = {}\n",
             remark, toml_string(calibration.machine));
  std::size_t position = 0;
  visit_constants(calibration, [&](std::string_view group, std::string_view name, const auto& value,
                                   const auto&...) {
    const Calibration::Origin& origin = calibration.origins.at(position++);
    fmt::print(stream, "\n[{}.{}]\nvalue = {}\nsource = {}\nkind = \"{}\"\n", group, name,
               toml(value), toml_string(origin.source), to_string(origin.kind));
  });
}

}  // namespace hoccl::sim
