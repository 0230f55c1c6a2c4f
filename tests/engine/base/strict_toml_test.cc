#include "engine/base/strict_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "engine/base/config_error.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

StrictToml parse(const std::string& body) {
  return StrictToml::parse("schema = 1\n" + body, "machine.toml", 1);
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no ConfigError";
}

TEST(StrictToml, ReadsEveryKindOfValue) {
  StrictToml toml = parse(R"(
    text = "hello"
    flag = true
    count = 7
    ratio = 0.5
    size = "2MiB"
    latency = "1.5us"
    rate = "50GB/s"
    counts = [8, 4]
    names = ["a", "b"])");
  EXPECT_EQ(toml.get_string("text"), "hello");
  EXPECT_TRUE(toml.get_bool("flag"));
  EXPECT_EQ(toml.get_integer("count", 0, 7), 7);
  EXPECT_DOUBLE_EQ(toml.get_number("ratio", 0.0, 1.0), 0.5);
  EXPECT_EQ(toml.get_bytes("size"), 2_MiB);
  EXPECT_DOUBLE_EQ(toml.get_seconds("latency").count(), 1.5e-6);
  EXPECT_DOUBLE_EQ(toml.get_rate("rate").value(), 50e9);
  EXPECT_THAT(toml.get_integers("counts", 0, 8), ElementsAre(8, 4));
  EXPECT_THAT(toml.get_strings("names"), ElementsAre("a", "b"));
  EXPECT_NO_THROW(toml.finish());
}

TEST(StrictToml, AWholeNumberServesAsANumber) {
  EXPECT_DOUBLE_EQ(parse("ratio = 2").get_number("ratio", 1.0, 4.0), 2.0);
}

TEST(StrictToml, ListsItsKeysSorted) {
  EXPECT_THAT(parse("b = 1\na = 2").keys(), ElementsAre("a", "b", "schema"));
}

TEST(StrictToml, TellsAListFromASingleValue) {
  const StrictToml toml = parse("many = [1]\none = 1");
  EXPECT_TRUE(toml.is_list("many"));
  EXPECT_FALSE(toml.is_list("one"));
  EXPECT_FALSE(toml.is_list("none"));
}

TEST(StrictToml, ReadsTablesAndArraysOfTables) {
  StrictToml toml = parse("[link]\nrate = \"1GB/s\"\n[[nic]]\ngpu = 3\n[[nic]]\ngpu = 5\n");
  StrictToml link = toml.get_table("link");
  EXPECT_DOUBLE_EQ(link.get_rate("rate").value(), 1e9);
  std::vector<StrictToml> nics = toml.get_tables("nic");
  ASSERT_EQ(nics.size(), 2U);
  EXPECT_EQ(nics[0].get_integer("gpu", 0, 7), 3);
  EXPECT_EQ(nics[1].get_integer("gpu", 0, 7), 5);
  EXPECT_THAT(toml.get_tables("absent"), IsEmpty());
}

TEST(StrictToml, SubTablesOutliveTheirParent) {
  const auto inner = [] {
    StrictToml outer = parse("[a.b]\nc = 4\n").get_table("a");
    return outer.get_table("b");
  };
  StrictToml table = inner();
  EXPECT_EQ(table.get_integer("c", 0, 9), 4);
}

TEST(StrictToml, NamesFileKeyValueAndRange) {
  EXPECT_EQ(message_of([] { parse("count = 9").get_integer("count", 1, 8); }),
            "machine.toml: key 'count' = 9: expected a whole number from 1 to 8");
  EXPECT_EQ(message_of([] { parse("count = 8.0").get_integer("count", 1, 8); }),
            "machine.toml: key 'count' = 8.0: expected a whole number from 1 to 8");
  EXPECT_EQ(message_of([] { parse("").get_integer("count", 1, 8); }),
            "machine.toml: key 'count' is missing: expected a whole number from 1 to 8");
  EXPECT_EQ(message_of([] { parse("ratio = 1.5").get_number("ratio", 0, 1); }),
            "machine.toml: key 'ratio' = 1.5: expected a number from 0 to 1");
  EXPECT_EQ(message_of([] { parse("ratio = nan").get_number("ratio", 0, 1); }),
            "machine.toml: key 'ratio' = nan: expected a number from 0 to 1");
}

TEST(StrictToml, NamesTheTypeItExpected) {
  EXPECT_EQ(message_of([] { parse("text = 5").get_string("text"); }),
            "machine.toml: key 'text' = 5: expected a string in quotes");
  EXPECT_EQ(message_of([] { parse("flag = 1").get_bool("flag"); }),
            "machine.toml: key 'flag' = 1: expected true or false");
  EXPECT_EQ(message_of([] { parse("counts = [1, \"x\"]").get_integers("counts", 0, 9); }),
            "machine.toml: key 'counts' = [1, 'x']: expected a list of whole numbers from 0 to 9");
  EXPECT_EQ(message_of([] { parse("names = \"a\"").get_strings("names"); }),
            "machine.toml: key 'names' = 'a': expected a list of strings in quotes");
  EXPECT_EQ(message_of([] { parse("link = 3").get_table("link"); }),
            "machine.toml: key 'link' = 3: expected a table [link]");
  EXPECT_EQ(message_of([] { parse("[nic]\ngpu = 3").get_tables("nic"); }),
            "machine.toml: key 'nic' = a table: expected tables [[nic]]");
}

TEST(StrictToml, AQuantityNeedsItsUnit) {
  EXPECT_EQ(
      message_of([] { parse("size = 5").get_bytes("size"); }),
      "machine.toml: key 'size' = 5: expected a size with a unit in quotes, such as \"2MiB\"");
  EXPECT_EQ(message_of([] { parse("rate = '50'").get_rate("rate"); }),
            "machine.toml: key 'rate' = '50': '50' has no unit; expected a rate with a unit, such "
            "as 50GB/s");
  EXPECT_EQ(message_of([] { parse("wait = '5 minutes'").get_seconds("wait"); }),
            "machine.toml: key 'wait' = '5 minutes': '5 minutes' has the unknown unit 'minutes'; "
            "expected a time with a unit, such as 1.5us");
}

TEST(StrictToml, NamesTheWholePathOfANestedKey) {
  StrictToml toml = parse("[link.nvlink]\nrate = 5\n[[nic]]\ngpu = 0\n[[nic]]\ngpu = 9\n");
  EXPECT_EQ(message_of([&] { toml.get_table("link").get_table("nvlink").get_rate("rate"); }),
            "machine.toml: key 'link.nvlink.rate' = 5: expected a rate with a unit in quotes, such "
            "as \"50GB/s\"");
  EXPECT_EQ(message_of([&] { toml.get_tables("nic")[1].get_integer("gpu", 0, 7); }),
            "machine.toml: key 'nic[1].gpu' = 9: expected a whole number from 0 to 7");
}

TEST(StrictToml, SuggestsTheKeyThatWasMeant) {
  StrictToml toml = parse("nic_rtae = '50GB/s'");
  EXPECT_FALSE(toml.has("nic_rate"));
  EXPECT_FALSE(toml.has("name"));
  EXPECT_EQ(message_of([&] { toml.finish(); }),
            "machine.toml: key 'nic_rtae' = '50GB/s': unknown key; did you mean 'nic_rate'?");
}

TEST(StrictToml, ListsTheKnownKeysWhenNoneIsClose) {
  StrictToml toml = parse("colour = 'red'");
  EXPECT_FALSE(toml.has("nic_rate"));
  EXPECT_EQ(message_of([&] { toml.finish(); }),
            "machine.toml: key 'colour' = 'red': unknown key; expected one of nic_rate, schema");
}

TEST(StrictToml, EachTableRefusesItsOwnUnknownKeys) {
  StrictToml toml = parse("[link]\nrate = '1GB/s'\nspeed = 1\n");
  StrictToml link = toml.get_table("link");
  link.get_rate("rate");
  EXPECT_NO_THROW(toml.finish());
  EXPECT_EQ(message_of([&] { link.finish(); }),
            "machine.toml: key 'link.speed' = 1: unknown key; expected one of rate");
}

TEST(StrictToml, ASyntaxErrorNamesItsLine) {
  EXPECT_THAT(message_of([] { parse("good = 1\nbad = = 2"); }),
              ::testing::MatchesRegex("machine.toml: line 3: .*: expected valid TOML"));
  EXPECT_THAT(message_of([] { parse("twice = 1\ntwice = 2"); }),
              ::testing::MatchesRegex("machine.toml: line 3: .*twice.*: expected valid TOML"));
}

TEST(StrictToml, ChecksTheSchemaFirst) {
  EXPECT_EQ(message_of([] { StrictToml::parse("a = 1", "machine.toml", 1); }),
            "machine.toml: key 'schema' is missing: expected 1, the version this program reads");
  EXPECT_EQ(message_of([] { StrictToml::parse("schema = 2", "machine.toml", 1); }),
            "machine.toml: key 'schema' = 2: expected 1, the version this program reads");
  EXPECT_EQ(message_of([] { StrictToml::parse("schema = '1'", "machine.toml", 1); }),
            "machine.toml: key 'schema' = '1': expected 1, the version this program reads");
}

TEST(StrictToml, AMessageIsOneShortLineWhateverTheValue) {
  const std::string message = message_of(
      [] { parse("text = \"\"\"a\nb" + std::string(500, 'x') + "\"\"\"").get_bool("text"); });
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 200U);
  EXPECT_THAT(message, ::testing::EndsWith("...: expected true or false"));
}

TEST(StrictToml, AMissingFileAndAFolderAreNamed) {
  const std::filesystem::path folder(::testing::TempDir());
  const std::string missing = (folder / "no_such_file.toml").string();
  EXPECT_EQ(message_of([&] { StrictToml::open(missing, 1); }),
            missing + ": cannot be opened: expected a readable TOML file");
  EXPECT_EQ(message_of([&] { StrictToml::open(folder, 1); }),
            folder.string() + ": cannot be opened: expected a readable TOML file");
}

TEST(StrictToml, ReadsAFileAndNamesItInErrors) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "strict_toml_reads_a_file.toml";
  std::ofstream(path) << "schema = 1\ncount = 3\n";
  StrictToml toml = StrictToml::open(path, 1);
  EXPECT_EQ(toml.get_integer("count", 0, 3), 3);
  EXPECT_EQ(message_of([&] { toml.get_integer("count", 0, 2); }),
            path.string() + ": key 'count' = 3: expected a whole number from 0 to 2");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace hoccl::engine
