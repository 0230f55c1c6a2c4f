#include "sim/calibration/calibration.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/base/strict_toml.h"
#include "sim/calibration/constants.h"
#include "sim/calibration/presets.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::ConfigError;
using engine::Seconds;
using engine::StrictToml;

namespace {

constexpr std::int64_t kSchema = 1;

std::string print(Seconds value) { return engine::to_string(value); }
std::string print(Bytes value) { return engine::to_string(value); }
std::string print(BytesPerSecond value) { return engine::to_string(value); }
std::string print(double value) { return fmt::format("{}", value); }
std::string print(std::int64_t value) { return fmt::format("{}", value); }

/// A rate or size of nothing would stop the model; times may be zero.
template <class Quantity>
bool is_usable(Quantity value) {
  if constexpr (std::same_as<Quantity, Seconds>) return true;
  return value > Quantity();
}

/// Reads the constants of a file table by table.
class Reader {
 public:
  explicit Reader(StrictToml& root) : root_(root) {}

  void operator()(std::string_view group, std::string_view name, Seconds& value) {
    read(group, name, [&value](StrictToml& table) { value = table.get_seconds("value"); });
  }
  void operator()(std::string_view group, std::string_view name, BytesPerSecond& value) {
    read(group, name, [&value](StrictToml& table) {
      value = table.get_rate("value");
      if (!is_usable(value)) table.fail("value", "a rate above zero");
    });
  }
  void operator()(std::string_view group, std::string_view name, Bytes& value) {
    read(group, name, [&value](StrictToml& table) {
      value = table.get_bytes("value");
      if (!is_usable(value)) table.fail("value", "a size above zero");
    });
  }
  void operator()(std::string_view group, std::string_view name, double& value, double low,
                  double high) {
    read(group, name, [&](StrictToml& table) { value = table.get_number("value", low, high); });
  }
  void operator()(std::string_view group, std::string_view name, std::int64_t& value,
                  std::int64_t low, std::int64_t high) {
    read(group, name, [&](StrictToml& table) { value = table.get_integer("value", low, high); });
  }

  /// Refuses what was not read; returns the origins in the order of the constants.
  std::vector<Calibration::Origin> finish() {
    for (const auto& [name, group] : groups_) group.finish();
    root_.finish();
    return std::move(origins_);
  }

 private:
  template <class ReadValue>
  void read(std::string_view group, std::string_view name, ReadValue read_value) {
    auto found = groups_.find(group);
    if (found == groups_.end()) {
      found = groups_.emplace(std::string(group), root_.get_table(group)).first;
    }
    StrictToml table = found->second.get_table(name);
    read_value(table);
    Calibration::Origin origin;
    origin.source = table.get_string("source");
    if (origin.source.empty()) table.fail("source", "where the value comes from");
    const std::string kind = table.get_string("kind");
    if (kind != "input" && kind != "fitted") table.fail("kind", "\"input\" or \"fitted\"");
    origin.kind = kind == "fitted" ? ConstantKind::kFitted : ConstantKind::kInput;
    table.finish();
    origins_.push_back(std::move(origin));
  }

  StrictToml& root_;
  std::map<std::string, StrictToml, std::less<>> groups_;
  std::vector<Calibration::Origin> origins_;
};

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Sets the constant called `key`, if it is among those visited.
class Setter {
 public:
  Setter(std::string_view key, std::string_view text) : key_(key), text_(text) {}

  template <class Quantity>
  void operator()(std::string_view group, std::string_view name, Quantity& value) {
    if (!is_meant(group, name)) return;
    Quantity parsed{};
    try {
      if constexpr (std::same_as<Quantity, Seconds>) parsed = engine::parse_seconds(text_);
      if constexpr (std::same_as<Quantity, Bytes>) parsed = engine::parse_bytes(text_);
      if constexpr (std::same_as<Quantity, BytesPerSecond>) parsed = engine::parse_rate(text_);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("--set {}: expected a value such as {}: {}", key_, print(value),
                                    error.what()));
    }
    if (!is_usable(parsed)) {
      throw ConfigError(fmt::format("--set {} = {}: expected a value above zero", key_, text_));
    }
    value = parsed;
  }

  template <class Number>
  void operator()(std::string_view group, std::string_view name, Number& value,
                  std::type_identity_t<Number> low, std::type_identity_t<Number> high) {
    if (!is_meant(group, name)) return;
    const std::optional<Number> parsed = parse_number<Number>(text_);
    // Written so that NaN fails too.
    if (!parsed || !(*parsed >= low && *parsed <= high)) {
      throw ConfigError(fmt::format("--set {} = {}: expected a {}number from {} to {}", key_, text_,
                                    std::is_integral_v<Number> ? "whole " : "", low, high));
    }
    value = *parsed;
  }

  /// Position of the constant that was set, or of the end.
  [[nodiscard]] std::optional<std::size_t> position() const { return found_; }

 private:
  bool is_meant(std::string_view group, std::string_view name) {
    const bool meant = key_ == fmt::format("{}.{}", group, name);
    if (meant) found_ = index_;
    ++index_;
    return meant;
  }

  std::string_view key_;
  std::string_view text_;
  std::size_t index_ = 0;
  std::optional<std::size_t> found_;
};

/// Known keys that share the group or the name of an unknown one; else the groups.
std::string close_keys(const std::vector<CalibrationEntry>& entries, std::string_view key) {
  const std::string_view group = key.substr(0, key.find('.'));
  const std::string_view name = key.substr(key.find('.') + 1);  // npos + 1 == 0: the whole key
  std::set<std::string> close;
  std::set<std::string> groups;
  for (const CalibrationEntry& entry : entries) {
    const std::string entry_group = entry.key.substr(0, entry.key.find('.'));
    const std::string entry_name = entry.key.substr(entry.key.find('.') + 1);
    groups.insert(entry_group + ".*");
    if (entry_group == group || entry_name == name) close.insert(entry.key);
  }
  return fmt::format("{}", fmt::join(close.empty() ? groups : close, ", "));
}

}  // namespace

std::string_view to_string(ConstantKind kind) {
  switch (kind) {
    case ConstantKind::kInput:
      return "input";
    case ConstantKind::kFitted:
      return "fitted";
  }
  return "?";
}

void Calibration::set(std::string_view key, std::string_view text, Origin origin) {
  Setter setter(key, text);
  visit_constants(*this, setter);
  if (!setter.position()) {
    throw ConfigError(fmt::format("--set {}: unknown constant; expected one of {}", key,
                                  close_keys(entries(), key)));
  }
  origins.at(*setter.position()) = std::move(origin);
}

void Calibration::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    throw ConfigError(
        fmt::format("--set {}: expected key=value, such as copy_engine.setup=2us", assignment));
  }
  set(assignment.substr(0, equals), assignment.substr(equals + 1));
}

const CopyEngineConstants& Calibration::copy_engine_of(engine::CopyClass copy_class) const {
  switch (copy_class) {
    case engine::CopyClass::kPeer:
      return copy_engine;
    case engine::CopyClass::kDeviceToHost:
      return copy_engine_d2h;
    case engine::CopyClass::kHostToDevice:
      return copy_engine_h2d;
  }
  HOCCL_CHECK(false, "copy class {}", static_cast<int>(copy_class));
}

const CopyPostConstants& Calibration::copy_post_of(engine::CopyClass copy_class) const {
  switch (copy_class) {
    case engine::CopyClass::kPeer:
      return cpu.post_peer;
    case engine::CopyClass::kDeviceToHost:
      return cpu.post_d2h;
    case engine::CopyClass::kHostToDevice:
      return cpu.post_h2d;
  }
  HOCCL_CHECK(false, "copy class {}", static_cast<int>(copy_class));
}

std::vector<CalibrationEntry> Calibration::entries() const {
  std::vector<CalibrationEntry> result;
  visit_constants(*this, [&](std::string_view group, std::string_view name, const auto& value,
                             const auto&...) {
    const Origin& origin = origins.at(result.size());
    result.push_back({fmt::format("{}.{}", group, name), print(value), origin.source, origin.kind});
  });
  return result;
}

engine::Rates Calibration::rates(const engine::Topology& topology) const {
  const engine::NvlinkRates link = topology.nvlink();
  BytesPerSecond fastest_nic;
  for (const engine::Nic& each : topology.nics()) fastest_nic = std::max(fastest_nic, each.rate);
  engine::Rates result;
  result.nvlink = std::max(link.out, link.in) * nvlink.efficiency;
  result.nic = fastest_nic * nic.efficiency;
  result.pcie_one_way = topology.pcie().one_way * pcie.efficiency;
  result.pcie_both_ways = topology.pcie().duplex_each * pcie.efficiency;
  // The engine of the model is limited by set-up and by its ports only.
  result.copy_engine = BytesPerSecond(std::numeric_limits<double>::infinity());
  return result;
}

std::uint64_t Calibration::hash() const {
  // FNV-1a, 64 bit (Fowler, Noll, Vo).
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const CalibrationEntry& entry : entries()) {
    for (const char letter : entry.key + "=" + entry.value + "\n") {
      hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
    }
  }
  return hash;
}

namespace {

Calibration read(StrictToml root) {
  Calibration result;
  result.machine = root.get_string("machine");
  if (result.machine.empty()) root.fail("machine", "what the constants describe");
  Reader reader(root);
  visit_constants(result, reader);
  result.origins = reader.finish();
  return result;
}

}  // namespace

Calibration load_calibration(const std::filesystem::path& file) {
  return read(StrictToml::open(file, kSchema));
}

Calibration parse_calibration(std::string_view text, const std::string& name) {
  return read(StrictToml::parse(text, name, kSchema));
}

std::vector<std::string> calibration_names() {
  std::vector<std::string> names;
  for (const CalibrationPreset& preset : calibration_presets()) names.emplace_back(preset.name);
  return names;
}

Calibration resolve_calibration(const std::string& name_or_file) {
  if (name_or_file.ends_with(".toml")) return load_calibration(name_or_file);
  for (const CalibrationPreset& preset : calibration_presets()) {
    if (preset.name == name_or_file) {
      return parse_calibration(preset.text, fmt::format("{}.toml", preset.name));
    }
  }
  throw ConfigError(fmt::format("calibration '{}': expected {} or a file ending in .toml",
                                name_or_file, fmt::join(calibration_names(), ", ")));
}

Calibration calibration_for(const engine::Topology& topology) {
  for (const CalibrationPreset& preset : calibration_presets()) {
    if (topology.name().starts_with(preset.name))
      return resolve_calibration(std::string(preset.name));
  }
  return resolve_calibration("h800");
}

}  // namespace hoccl::sim
