#include "sim/train/training_setup.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/base/strict_toml.h"
#include "sim/train/presets.h"
#include "sim/train/training_keys.h"

namespace hoccl::sim {

using engine::ConfigError;
using engine::Seconds;
using engine::StrictToml;

namespace {

constexpr std::int64_t kTrainingSchema = 1;

std::string printed(int value) { return fmt::format("{}", value); }
std::string printed(double value) { return fmt::format("{}", value); }
std::string printed(bool value) { return value ? "true" : "false"; }
std::string printed(Seconds value) { return engine::to_string(value); }
template <class Word>
requires std::is_enum_v<Word> std::string printed(Word value) {
  return std::string(to_string(value));
}

/// The two values of a setting that is one word.
template <class Word>
inline constexpr std::array<Word, 2> kWords = {};
template <>
inline constexpr std::array kWords<PipelineSchedule> = {PipelineSchedule::k1f1b,
                                                        PipelineSchedule::kInterleaved};
template <>
inline constexpr std::array kWords<RankOrder> = {RankOrder::kTensorDataPipeline,
                                                 RankOrder::kTensorPipelineData};

template <class Word>
std::string words_of() {
  return fmt::format("{} or {}", to_string(kWords<Word>.front()), to_string(kWords<Word>.back()));
}

template <class Word>
std::optional<Word> find_word(std::string_view text) {
  for (const Word each : kWords<Word>) {
    if (to_string(each) == text) return each;
  }
  return std::nullopt;  // the caller names the place
}

/// Reads the values of a file table by table.
class SettingReader {
 public:
  explicit SettingReader(StrictToml& root) : root_(root) {}

  void operator()(std::string_view group, std::string_view name, int& value, int low, int high) {
    read(group, name, value, [&](StrictToml& table) {
      return static_cast<int>(table.get_integer("value", low, high));
    });
  }
  void operator()(std::string_view group, std::string_view name, double& value, double low,
                  double high) {
    read(group, name, value,
         [&](StrictToml& table) { return table.get_number("value", low, high); });
  }
  void operator()(std::string_view group, std::string_view name, bool& value) {
    read(group, name, value, [](StrictToml& table) { return table.get_bool("value"); });
  }
  void operator()(std::string_view group, std::string_view name, Seconds& value) {
    read(group, name, value, [](StrictToml& table) { return table.get_seconds("value"); });
  }
  template <class Word>
  requires std::is_enum_v<Word>
  void operator()(std::string_view group, std::string_view name, Word& value) {
    read(group, name, value, [](StrictToml& table) {
      const std::optional<Word> word = find_word<Word>(table.get_string("value"));
      if (!word) table.fail("value", words_of<Word>());
      return *word;
    });
  }

  /// Refuses what was not read; returns the origins in the order of the keys.
  std::vector<TrainingSetup::Origin> finish() {
    for (const auto& [name, group] : groups_) group.finish();
    root_.finish();
    return std::move(origins_);
  }

 private:
  template <class Value, class ReadValue>
  void read(std::string_view group, std::string_view name, Value& value, ReadValue read_value) {
    auto found = groups_.find(group);
    if (found == groups_.end()) {
      found = groups_.emplace(std::string(group), root_.get_table(group)).first;
    }
    StrictToml table = found->second.get_table(name);
    value = read_value(table);
    TrainingSetup::Origin origin;
    origin.key = fmt::format("{}.{}", group, name);
    origin.value = printed(value);
    origin.source = table.get_string("source");
    if (origin.source.empty()) table.fail("source", "where the value comes from");
    origin.kind = table.get_string("kind");
    if (origin.kind != "input" && origin.kind != "fitted") {
      table.fail("kind", "\"input\" or \"fitted\"");
    }
    table.finish();
    origins_.push_back(std::move(origin));
  }

  StrictToml& root_;
  std::map<std::string, StrictToml, std::less<>> groups_;
  std::vector<TrainingSetup::Origin> origins_;
};

/// Sets the value called `key`, if it is among those visited.
class SettingWriter {
 public:
  SettingWriter(std::string_view key, std::string_view text) : key_(key), text_(text) {}

  template <class Number>
  void operator()(std::string_view group, std::string_view name, Number& value,
                  std::type_identity_t<Number> low, std::type_identity_t<Number> high) {
    if (!is_meant(group, name)) return;
    Number parsed{};
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data(), end, parsed);
    // Written so that NaN fails too.
    if (error != std::errc() || stop != end || !(parsed >= low && parsed <= high)) {
      refuse(fmt::format("a {}number from {} to {}", std::is_integral_v<Number> ? "whole " : "",
                         low, high));
    }
    store(value, parsed);
  }
  void operator()(std::string_view group, std::string_view name, bool& value) {
    if (!is_meant(group, name)) return;
    if (text_ != "true" && text_ != "false") refuse("true or false");
    store(value, text_ == "true");
  }
  void operator()(std::string_view group, std::string_view name, Seconds& value) {
    if (!is_meant(group, name)) return;
    try {
      store(value, engine::parse_seconds(text_));
    } catch (const ConfigError& error) {
      refuse(fmt::format("a value such as {}: {}", printed(value), error.what()));
    }
  }
  template <class Word>
  requires std::is_enum_v<Word>
  void operator()(std::string_view group, std::string_view name, Word& value) {
    if (!is_meant(group, name)) return;
    const std::optional<Word> word = find_word<Word>(text_);
    if (!word) refuse(words_of<Word>());
    store(value, *word);
  }

  /// The new value as printed; nothing when no key was meant.
  [[nodiscard]] const std::optional<std::string>& written() const { return written_; }

 private:
  [[nodiscard]] bool is_meant(std::string_view group, std::string_view name) const {
    return key_ == fmt::format("{}.{}", group, name);
  }

  template <class Value>
  void store(Value& value, Value parsed) {
    value = parsed;
    written_ = printed(parsed);
  }

  [[noreturn]] void refuse(std::string_view expected) const {
    throw ConfigError(fmt::format("--set {} = {}: expected {}", key_, text_, expected));
  }

  std::string_view key_;
  std::string_view text_;
  std::optional<std::string> written_;
};

/// Known keys that share the group or the name of an unknown one; else the groups.
std::string close_settings(TrainingSetup& setup, std::string_view key) {
  const std::string_view key_group = key.substr(0, key.find('.'));
  const std::string_view key_name = key.substr(key.find('.') + 1);  // npos + 1 == 0: the whole key
  std::set<std::string> close;
  std::set<std::string> groups;
  visit_training_setup(
      setup, [&](std::string_view group, std::string_view name, const auto&, const auto&...) {
        groups.insert(fmt::format("{}.*", group));
        if (group == key_group || name == key_name) close.insert(fmt::format("{}.{}", group, name));
      });
  return fmt::format("{}", fmt::join(close.empty() ? groups : close, ", "));
}

TrainingSetup read_training_setup(StrictToml root) {
  TrainingSetup setup;
  setup.name = root.get_string("name");
  if (setup.name.empty()) root.fail("name", "what the model is called");
  SettingReader reader(root);
  visit_training_setup(setup, reader);
  setup.origins = reader.finish();
  return setup;
}

}  // namespace

TrainingSetup load_training_setup(const std::filesystem::path& file) {
  return read_training_setup(StrictToml::open(file, kTrainingSchema));
}

TrainingSetup parse_training_setup(std::string_view text, const std::string& name) {
  return read_training_setup(StrictToml::parse(text, name, kTrainingSchema));
}

std::vector<std::string> training_setup_names() {
  std::vector<std::string> names;
  for (const TrainingPreset& preset : training_presets()) names.emplace_back(preset.name);
  return names;
}

TrainingSetup resolve_training_setup(const std::string& name_or_file) {
  if (name_or_file.ends_with(".toml")) return load_training_setup(name_or_file);
  for (const TrainingPreset& preset : training_presets()) {
    if (preset.name == name_or_file) {
      return parse_training_setup(preset.text, fmt::format("{}.toml", preset.name));
    }
  }
  throw ConfigError(fmt::format("model '{}': expected {} or a file ending in .toml", name_or_file,
                                fmt::join(training_setup_names(), ", ")));
}

void set_training_value(TrainingSetup& setup, std::string_view key, std::string_view text) {
  SettingWriter writer(key, text);
  visit_training_setup(setup, writer);
  if (!writer.written()) {
    throw ConfigError(
        fmt::format("--set {}: unknown key; expected one of {}", key, close_settings(setup, key)));
  }
  for (TrainingSetup::Origin& origin : setup.origins) {
    if (origin.key == key) {
      origin.value = *writer.written();
      origin.source = "--set";
      origin.kind = "input";
    }
  }
}

}  // namespace hoccl::sim
