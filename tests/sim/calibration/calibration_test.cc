#include "sim/calibration/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <set>
#include <string>

#include "engine/base/config_error.h"
#include "engine/topology/topology.h"
#include "sim/calibration/presets.h"

namespace hoccl::sim {
namespace {

using engine::ConfigError;
using engine::CopyClass;
using engine::Seconds;
using namespace engine::literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string h800_text() {
  for (const CalibrationPreset& preset : calibration_presets()) {
    if (preset.name == "h800") return std::string(preset.text);
  }
  return {};
}

/// The file with the first occurrence of `from` replaced.
std::string h800_with(const std::string& from, const std::string& to) {
  std::string text = h800_text();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// The table of one constant, as written in the file.
std::string table_of(const std::string& key) {
  const std::string text = h800_text();
  const std::size_t begin = text.find("[" + key + "]");
  EXPECT_NE(begin, std::string::npos) << key;
  const std::size_t end = text.find("kind = ", begin);
  return text.substr(begin, text.find('\n', end) - begin);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

std::string parse_error(const std::string& text) {
  return error_of([&text] { (void)parse_calibration(text, "bad.toml"); });
}

const CalibrationEntry& entry(const std::vector<CalibrationEntry>& entries, std::string_view key) {
  const auto found = std::ranges::find(entries, key, &CalibrationEntry::key);
  EXPECT_NE(found, entries.end()) << key;
  return *found;
}

TEST(Calibration, EveryShippedFileIsCompleteAndSourced) {
  EXPECT_THAT(calibration_names(), testing::ElementsAre("h800", "h200", "gb200"));
  for (const std::string& name : calibration_names()) {
    const Calibration calibration = resolve_calibration(name);
    std::set<std::string> keys;
    for (const CalibrationEntry& each : calibration.entries()) {
      EXPECT_FALSE(each.source.empty()) << name << " " << each.key;
      EXPECT_FALSE(each.value.empty()) << name << " " << each.key;
      EXPECT_TRUE(keys.insert(each.key).second) << name << " " << each.key;
    }
  }
}

TEST(Calibration, FittedConstantsNameTheFigureTheyMatch) {
  for (const CalibrationEntry& each : resolve_calibration("h800").entries()) {
    if (each.kind != ConstantKind::kFitted) continue;
    EXPECT_THAT(each.source, HasSubstr("Fig. ")) << each.key;
  }
}

TEST(Calibration, OnlyTheH800IsFitted) {
  for (const std::string name : {"h200", "gb200"}) {
    for (const CalibrationEntry& each : resolve_calibration(name).entries()) {
      EXPECT_EQ(each.kind, ConstantKind::kInput) << name << " " << each.key;
    }
  }
}

TEST(Calibration, TermsOfASmallDeviceToHostCopyAddUpToTheMeasuredTime) {
  // 6.5 us from submission to completion of 4 KiB at 55.3 GB/s, one H200.
  const Calibration c = resolve_calibration("h200");
  const CopyEngineConstants& engine = c.copy_engine_d2h;
  const Seconds sum = c.cpu.post_d2h.alone + c.cpu.post_event + engine.launch_latency +
                      engine.setup + 4_KiB / 55.3_GBps + engine.completion_latency +
                      c.cpu.query_copies / 2.0 + c.cpu.poll_copies;
  EXPECT_NEAR(engine::microseconds(sum), 6.5, 0.1);
}

TEST(Calibration, EachCopyClassHasConstantsOfItsOwn) {
  Calibration c = resolve_calibration("h200");
  c.set("copy_engine.setup=1us");
  c.set("copy_engine_d2h.setup=2us");
  c.set("copy_engine_h2d.setup=3us");
  c.set("cpu.post_copy=4us");
  c.set("cpu.post_batch_d2h=5us");
  c.set("cpu.post_copy_in_batch_h2d=6us");
  EXPECT_EQ(c.copy_engine_of(CopyClass::kPeer).setup, 1_us);
  EXPECT_EQ(c.copy_engine_of(CopyClass::kDeviceToHost).setup, 2_us);
  EXPECT_EQ(c.copy_engine_of(CopyClass::kHostToDevice).setup, 3_us);
  EXPECT_EQ(c.copy_post_of(CopyClass::kPeer).alone, 4_us);
  EXPECT_EQ(c.copy_post_of(CopyClass::kDeviceToHost).batch, 5_us);
  EXPECT_EQ(c.copy_post_of(CopyClass::kHostToDevice).in_batch, 6_us);
}

TEST(Calibration, RatesAreNominalTimesEfficiency) {
  const Calibration calibration = resolve_calibration("h800");
  const engine::Topology topology = engine::preset_topology("h800-2x8");
  const engine::Rates rates = calibration.rates(topology);
  EXPECT_DOUBLE_EQ(rates.nvlink.value(), 200e9 * calibration.nvlink.efficiency);
  EXPECT_DOUBLE_EQ(rates.nic.value(), 50e9 * calibration.nic.efficiency);
  EXPECT_DOUBLE_EQ(rates.pcie_one_way.value(), topology.pcie().one_way.value());
  EXPECT_DOUBLE_EQ(rates.pcie_both_ways.value(), topology.pcie().duplex_each.value());
  EXPECT_TRUE(std::isinf(rates.copy_engine.value()));
}

TEST(Calibration, IsChosenByTheTopologysName) {
  EXPECT_EQ(calibration_for(engine::preset_topology("h200-1x1")).hash(),
            resolve_calibration("h200").hash());
  EXPECT_EQ(calibration_for(engine::preset_topology("gb200-nvl72")).hash(),
            resolve_calibration("gb200").hash());
  EXPECT_EQ(calibration_for(engine::preset_topology("h800-2x8")).hash(),
            resolve_calibration("h800").hash());
}

TEST(Calibration, SetReplacesOneConstantAndItsSource) {
  Calibration calibration = resolve_calibration("h800");
  const std::uint64_t before = calibration.hash();
  calibration.set("copy_engine.setup", "2us");
  calibration.set("copy_engine.concurrency=1");
  calibration.set("nic.efficiency", "0.5");
  calibration.set("nccl.net_step=1MiB");
  calibration.set("nccl.channel_net_rate", "3GB/s");
  EXPECT_EQ(calibration.copy_engine.setup, Seconds(2e-6));
  EXPECT_EQ(calibration.copy_engine.concurrency, 1);
  EXPECT_EQ(calibration.nic.efficiency, 0.5);
  EXPECT_EQ(calibration.nccl.net_step, 1_MiB);
  EXPECT_EQ(calibration.nccl.channel_net_rate, 3_GBps);
  EXPECT_NE(calibration.hash(), before);
  const std::vector<CalibrationEntry> entries = calibration.entries();
  EXPECT_EQ(entry(entries, "copy_engine.setup").value, "2us");
  EXPECT_EQ(entry(entries, "copy_engine.setup").source, "--set");
  EXPECT_NE(entry(entries, "copy_engine.launch_latency").source, "--set");
}

TEST(Calibration, PrintedValuesAreAcceptedBack) {
  const Calibration original = resolve_calibration("h800");
  Calibration copy = original;
  for (const CalibrationEntry& each : original.entries()) copy.set(each.key, each.value);
  EXPECT_EQ(copy.hash(), original.hash());
}

TEST(Calibration, SetOfAnUnknownKeyNamesCloseOnes) {
  Calibration calibration = resolve_calibration("h800");
  EXPECT_THAT(error_of([&] { calibration.set("copy_engine.setups", "2us"); }),
              AllOf(HasSubstr("copy_engine.setups"), HasSubstr("copy_engine.setup,"),
                    Not(HasSubstr("gate."))));
  EXPECT_THAT(error_of([&] { calibration.set("ready_latency", "2us"); }),
              HasSubstr("gate.ready_latency"));
  EXPECT_THAT(error_of([&] { calibration.set("gates.foo", "2us"); }),
              AllOf(HasSubstr("gate.*"), HasSubstr("copy_engine.*")));
}

TEST(Calibration, SetRefusesValuesThatDoNotFit) {
  Calibration calibration = resolve_calibration("h800");
  const std::uint64_t before = calibration.hash();
  for (const char* bad :
       {"copy_engine.setup=2", "copy_engine.setup=-2us", "copy_engine.setup=2GB/s",
        "copy_engine.setup=", "copy_engine.concurrency=0", "copy_engine.concurrency=1.5",
        "copy_engine.concurrency=4 lanes", "copy_engine.setup_overlap=1.1", "nic.efficiency=nan",
        "nic.efficiency=0", "nccl.net_step=0B", "nccl.channel_net_rate=0GB/s", "copy_engine.setup",
        "=2us", ""}) {
    const std::string message = error_of([&] { calibration.set(bad); });
    EXPECT_THAT(message, HasSubstr("--set")) << bad;
    EXPECT_THAT(message, HasSubstr("expected")) << bad;
  }
  EXPECT_EQ(calibration.hash(), before);
}

struct BadFile {
  std::string name;
  std::string text;
  std::vector<std::string> parts;  ///< of the message
};

TEST(Calibration, MalformedFilesAreRefusedWithFileKeyAndExpectation) {
  const std::string setup = table_of("copy_engine.setup");
  const auto with_setup = [&setup](const std::string& table) { return h800_with(setup, table); };
  const std::vector<BadFile> files = {
      {"no schema", h800_with("schema = 1", ""), {"schema"}},
      {"other schema", h800_with("schema = 1", "schema = 2"), {"schema", "2"}},
      {"no machine", h800_with("machine =", "machines ="), {"machine"}},
      {"constant missing", with_setup(""), {"copy_engine.setup", "missing"}},
      {"constant is no table",
       with_setup("[copy_engine]\nsetup = \"2us\""),
       {"copy_engine.setup", "table"}},
      {"no unit",
       with_setup("[copy_engine.setup]\nvalue = 2.0\nsource = \"s\"\nkind = \"input\""),
       {"copy_engine.setup.value", "unit"}},
      {"wrong unit",
       with_setup("[copy_engine.setup]\nvalue = \"2GB\"\nsource = \"s\"\nkind = \"input\""),
       {"copy_engine.setup.value", "2GB"}},
      {"negative",
       with_setup("[copy_engine.setup]\nvalue = \"-2us\"\nsource = \"s\"\nkind = \"input\""),
       {"copy_engine.setup.value", "negative"}},
      {"no source",
       with_setup("[copy_engine.setup]\nvalue = \"2us\"\nkind = \"input\""),
       {"copy_engine.setup.source", "missing"}},
      {"empty source",
       with_setup("[copy_engine.setup]\nvalue = \"2us\"\nsource = \"\"\nkind = \"input\""),
       {"copy_engine.setup.source", "where the value comes from"}},
      {"no kind",
       with_setup("[copy_engine.setup]\nvalue = \"2us\"\nsource = \"s\""),
       {"copy_engine.setup.kind", "missing"}},
      {"unknown kind",
       with_setup("[copy_engine.setup]\nvalue = \"2us\"\nsource = \"s\"\nkind = \"guess\""),
       {"copy_engine.setup.kind", "guess", "fitted"}},
      {"key too many",
       with_setup(setup + "\nvaleu = \"2us\""),
       {"copy_engine.setup.valeu", "value"}},
      {"constant too many",
       with_setup(setup + "\n[copy_engine.setups]\nvalue = \"2us\""),
       {"copy_engine.setups", "copy_engine"}},
      {"group too many", h800_text() + "\n[copy_motor]\n", {"copy_motor"}},
      {"efficiency above one",
       h800_with(table_of("pcie.efficiency"),
                 "[pcie.efficiency]\nvalue = 1.5\nsource = \"s\"\nkind = \"input\""),
       {"pcie.efficiency.value", "1.5"}},
      {"no lanes",
       h800_with(table_of("copy_engine.concurrency"),
                 "[copy_engine.concurrency]\nvalue = 0\nsource = \"s\"\nkind = \"input\""),
       {"copy_engine.concurrency.value", "whole number"}},
      {"half a lane",
       h800_with(table_of("copy_engine.concurrency"),
                 "[copy_engine.concurrency]\nvalue = 1.5\nsource = \"s\"\nkind = \"input\""),
       {"copy_engine.concurrency.value", "whole number"}},
      {"no rate",
       h800_with(table_of("nccl.channel_net_rate"),
                 "[nccl.channel_net_rate]\nvalue = \"0GB/s\"\nsource = \"s\"\nkind = \"input\""),
       {"nccl.channel_net_rate.value", "above zero"}},
      {"no TOML", "schema = = 1", {"line 1"}},
  };
  for (const BadFile& file : files) {
    const std::string message = parse_error(file.text);
    EXPECT_THAT(message, HasSubstr("bad.toml")) << file.name;
    for (const std::string& part : file.parts) {
      EXPECT_THAT(message, HasSubstr(part)) << file.name;
    }
  }
}

TEST(Calibration, UnknownNamesAndFilesAreRefused) {
  EXPECT_THAT(error_of([] { (void)resolve_calibration("h900"); }),
              AllOf(HasSubstr("h900"), HasSubstr("h800"), HasSubstr("gb200")));
  EXPECT_THAT(error_of([] { (void)resolve_calibration("/nowhere/h800.toml"); }),
              HasSubstr("/nowhere/h800.toml"));
}

TEST(Calibration, AFileIsReadLikeAShippedOne) {
  const std::string file = testing::TempDir() + "calibration_test.toml";
  std::ofstream(file) << h800_text();
  EXPECT_EQ(resolve_calibration(file).hash(), resolve_calibration("h800").hash());
  std::remove(file.c_str());
}

}  // namespace
}  // namespace hoccl::sim
