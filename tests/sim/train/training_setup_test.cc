#include "sim/train/training_setup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "engine/base/config_error.h"
#include "engine/topology/topology.h"
#include "sim/train/presets.h"

namespace hoccl::sim {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace engine::literals;

std::string preset_text(std::string_view name) {
  for (const TrainingPreset& preset : training_presets()) {
    if (preset.name == name) return std::string(preset.text);
  }
  ADD_FAILURE() << name;
  return {};
}

/// A preset with the first occurrence of `from` replaced.
std::string preset_with(const std::string& from, const std::string& to) {
  std::string text = preset_text("gpt-6.7b");
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The table of one value, as the preset has it.
std::string preset_table(const std::string& key) {
  const std::string text = preset_text("gpt-6.7b");
  const std::size_t begin = text.find("[" + key + "]");
  const std::size_t end = text.find("kind = ", begin);
  return text.substr(begin, text.find('\n', end) - begin);
}

std::string preset_table_with(const std::string& key, const std::string& value) {
  return preset_with(preset_table(key),
                     "[" + key + "]\nvalue = " + value + "\nsource = \"test\"\nkind = \"input\"");
}

std::string thrown_by(const std::function<void()>& action) {
  try {
    action();
  } catch (const engine::ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

std::string parsing_error(const std::string& text) {
  return thrown_by([&] { (void)parse_training_setup(text, "bad.toml"); });
}

std::string setting_error(std::string_view key, std::string_view text) {
  TrainingSetup setup = resolve_training_setup("gpt-6.7b");
  return thrown_by([&] { set_training_value(setup, key, text); });
}

const TrainingSetup::Origin& origin_of(const TrainingSetup& setup, std::string_view key) {
  const auto found = std::ranges::find(setup.origins, key, &TrainingSetup::Origin::key);
  EXPECT_NE(found, setup.origins.end()) << key;
  return *found;
}

TEST(TrainingSetup, EveryPresetIsNamedSourcedAndFitsTheMachineOfThePaper) {
  EXPECT_THAT(training_setup_names(), testing::ElementsAre("gpt-6.7b", "gpt-32b"));
  for (const std::string& name : training_setup_names()) {
    const TrainingSetup setup = resolve_training_setup(name);
    EXPECT_EQ(setup.name, name);
    require_layout(setup.layout, setup.model, engine::preset_topology("h800-4x8"));
    for (const TrainingSetup::Origin& origin : setup.origins) {
      EXPECT_NE(origin.source, "") << origin.key;
      EXPECT_TRUE(origin.kind == "input" || origin.kind == "fitted") << origin.key;
    }
  }
}

TEST(TrainingSetup, OriginsAreTheFilesValuesInItsOrder) {
  for (const std::string& name : training_setup_names()) {
    std::istringstream lines(preset_text(name));
    std::vector<std::string> keys;
    std::vector<std::string> values;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('[')) keys.push_back(line.substr(1, line.size() - 2));
      if (!line.starts_with("value = ")) continue;
      std::erase(line, '"');
      values.push_back(line.substr(std::string("value = ").size()));
    }
    const TrainingSetup setup = resolve_training_setup(name);
    ASSERT_EQ(setup.origins.size(), keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(setup.origins[i].key, keys[i]);
      EXPECT_EQ(setup.origins[i].value, values[i]) << keys[i];
    }
  }
}

TEST(TrainingSetup, ValuesReachTheirFields) {
  std::string text = preset_table_with("layout.microbatches", "24");
  TrainingSetup setup = parse_training_setup(text, "good.toml");
  EXPECT_EQ(setup.layout.microbatches, 24);
  EXPECT_EQ(origin_of(setup, "layout.microbatches").source, "test");
  setup = parse_training_setup(preset_table_with("layout.schedule", "\"1f1b\""), "good.toml");
  EXPECT_EQ(setup.layout.schedule, PipelineSchedule::k1f1b);
  setup = parse_training_setup(preset_table_with("data_parallel.overlap_reduce", "false"), "good");
  EXPECT_FALSE(setup.overlap_reduce);
  EXPECT_TRUE(setup.overlap_gather);
  setup = parse_training_setup(preset_table_with("speed.backward", "1"), "good.toml");
  EXPECT_EQ(setup.speed.backward, 1.0);
}

TEST(TrainingSetup, MissingKeysAreRefused) {
  for (const TrainingSetup::Origin& origin : resolve_training_setup("gpt-6.7b").origins) {
    EXPECT_THAT(parsing_error(preset_with(preset_table(origin.key), "")),
                AllOf(StartsWith("bad.toml: key '" + origin.key + "'"), HasSubstr("missing")));
  }
  EXPECT_THAT(parsing_error(preset_with("name = \"gpt-6.7b\"", "")),
              HasSubstr("'name' is missing"));
  EXPECT_THAT(parsing_error(preset_with("schema = 1", "schema = 2")), HasSubstr("'schema' = 2"));
}

TEST(TrainingSetup, UnknownKeysAreRefused) {
  EXPECT_THAT(parsing_error(preset_with("[layout.tensor]", "[layout.tensors]\n[layout.tensor]")),
              HasSubstr("did you mean 'tensor'?"));
  EXPECT_THAT(parsing_error(preset_with("[sms.tensor]", "[smart.tensor]\n[sms.tensor]")),
              HasSubstr("'smart'"));
  EXPECT_THAT(parsing_error(preset_with("value = 32", "value = 32\nunit = \"\"")),
              HasSubstr("key 'model.layers.unit'"));
}

TEST(TrainingSetup, ValuesThatDoNotFitAreRefused) {
  EXPECT_THAT(
      parsing_error(preset_table_with("layout.tensor", "0")),
      StartsWith("bad.toml: key 'layout.tensor.value' = 0: expected a whole number from 1"));
  EXPECT_THAT(parsing_error(preset_table_with("layout.schedule", "\"gpipe\"")),
              "bad.toml: key 'layout.schedule.value' = 'gpipe': expected 1f1b or interleaved");
  EXPECT_THAT(parsing_error(preset_table_with("speed.forward", "0.0")), HasSubstr("a number from"));
  EXPECT_THAT(parsing_error(preset_table_with("speed.forward", "1.01")), HasSubstr("to 1"));
  EXPECT_THAT(parsing_error(preset_table_with("speed.step_overhead", "0.01")), HasSubstr("unit"));
  EXPECT_THAT(parsing_error(preset_table_with("data_parallel.overlap_gather", "1")),
              HasSubstr("true or false"));
  EXPECT_THAT(parsing_error(preset_with("kind = \"input\"", "kind = \"guess\"")),
              HasSubstr("\"input\" or \"fitted\""));
  EXPECT_THAT(parsing_error(preset_with("source = \"a dense model\"", "source = \"\"")),
              HasSubstr("model.experts.source"));
}

TEST(TrainingSetup, IsFoundByNameOrFile) {
  const std::string file = testing::TempDir() + "training_setup_test.toml";
  std::ofstream(file) << preset_table_with("layout.microbatch", "7");
  EXPECT_EQ(resolve_training_setup(file).layout.microbatch, 7);
  EXPECT_EQ(load_training_setup(file).layout.microbatch, 7);
  EXPECT_EQ(thrown_by([] { (void)resolve_training_setup("gpt-7b"); }),
            "model 'gpt-7b': expected gpt-6.7b, gpt-32b or a file ending in .toml");
}

TEST(SetTrainingValue, ReplacesAValueOfEachTypeAndBecomesItsSource) {
  TrainingSetup setup = resolve_training_setup("gpt-6.7b");
  set_training_value(setup, "layout.tensor", "4");
  set_training_value(setup, "layout.schedule", "1f1b");
  set_training_value(setup, "data_parallel.overlap_gather", "false");
  set_training_value(setup, "speed.forward", "0.25");
  set_training_value(setup, "speed.step_overhead", "3ms");
  EXPECT_EQ(setup.layout.tensor, 4);
  EXPECT_EQ(setup.layout.schedule, PipelineSchedule::k1f1b);
  EXPECT_FALSE(setup.overlap_gather);
  EXPECT_EQ(setup.speed.forward, 0.25);
  EXPECT_EQ(setup.speed.step_overhead, 3_ms);
  const TrainingSetup before = resolve_training_setup("gpt-6.7b");
  int replaced = 0;
  for (std::size_t i = 0; i < setup.origins.size(); ++i) {
    EXPECT_EQ(setup.origins[i].key, before.origins[i].key);
    if (setup.origins[i].value == before.origins[i].value) continue;
    EXPECT_EQ(setup.origins[i].source, "--set");
    EXPECT_EQ(setup.origins[i].kind, "input");
    ++replaced;
  }
  EXPECT_EQ(replaced, 5);
  EXPECT_EQ(origin_of(setup, "speed.step_overhead").value, "3ms");
}

TEST(SetTrainingValue, AcceptsEveryPrintedValue) {
  TrainingSetup setup = resolve_training_setup("gpt-32b");
  const TrainingSetup before = setup;
  for (const TrainingSetup::Origin& origin : before.origins) {
    set_training_value(setup, origin.key, origin.value);
    EXPECT_EQ(origin_of(setup, origin.key).value, origin.value);
  }
  EXPECT_EQ(setup.model, before.model);
  EXPECT_EQ(setup.layout, before.layout);
}

TEST(SetTrainingValue, RefusesUnknownKeysAndNamesCloseOnes) {
  EXPECT_THAT(setting_error("layout.tensors", "4"),
              AllOf(StartsWith("--set layout.tensors: unknown key"), HasSubstr("layout.pipeline, "),
                    Not(HasSubstr("sms."))));
  EXPECT_THAT(setting_error("tensor", "4"),
              AllOf(HasSubstr("layout.tensor"), HasSubstr("sms.tensor")));
  EXPECT_THAT(setting_error("gpu.peak", "4"), HasSubstr("layout.*, model.*, sms.*, speed.*"));
}

TEST(SetTrainingValue, RefusesValuesThatDoNotFitAndKeepsTheOldOne) {
  EXPECT_THAT(setting_error("layout.tensor", "0"),
              StartsWith("--set layout.tensor = 0: expected a whole number from 1 to"));
  EXPECT_THAT(setting_error("layout.tensor", "4.0"), HasSubstr("whole number"));
  EXPECT_THAT(setting_error("layout.tensor", ""), HasSubstr("whole number"));
  EXPECT_THAT(setting_error("layout.data", "99999999999"), HasSubstr("whole number"));
  EXPECT_THAT(setting_error("speed.forward", "nan"), HasSubstr("number from 0.001 to 1"));
  EXPECT_THAT(setting_error("speed.step_overhead", "3"), HasSubstr("expected a value such as "));
  EXPECT_EQ(setting_error("layout.schedule", "gpipe"),
            "--set layout.schedule = gpipe: expected 1f1b or interleaved");
  EXPECT_EQ(setting_error("data_parallel.overlap_gather", "yes"),
            "--set data_parallel.overlap_gather = yes: expected true or false");
  TrainingSetup setup = resolve_training_setup("gpt-6.7b");
  const int before = setup.layout.tensor;
  (void)thrown_by([&] { set_training_value(setup, "layout.tensor", "-1"); });
  EXPECT_EQ(setup.layout.tensor, before);
  EXPECT_NE(origin_of(setup, "layout.tensor").source, "--set");
}

}  // namespace
}  // namespace hoccl::sim
