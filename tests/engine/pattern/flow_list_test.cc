#include "engine/pattern/flow_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "engine/pattern/pattern_file.h"
#include "engine/pattern/traffic_matrix.h"
#include "tests/engine/pattern/delivery.h"

namespace hoccl::engine {
namespace {

using namespace literals;

/// A flow list of 4 ranks with these flows.
std::string list_of(std::string_view flows, std::string_view name = "mine") {
  return R"({"schema": 1, "name": ")" + std::string(name) + R"(", "rank_count": 4, "flows": [)" +
         std::string(flows) + "]}";
}

std::string flow(int source, std::string_view targets, std::string_view source_offset,
                 std::string_view target_offset, std::string_view size) {
  return R"({"source": )" + std::to_string(source) + R"(, "targets": )" + std::string(targets) +
         R"(, "source_offset_bytes": )" + std::string(source_offset) +
         R"(, "target_offset_bytes": )" + std::string(target_offset) + R"(, "size_bytes": )" +
         std::string(size) + "}";
}

Pattern read(const std::string& text) { return flow_list_from_json(text, "f.json"); }

std::string refused(const std::string& text) {
  return refusal([&] { read(text); });
}

TEST(FlowList, ReadsUnicastsMulticastsAndClasses) {
  std::string background = flow(1, "[1]", "5", "6", "7");
  background.insert(background.size() - 1, R"(, "class": "background")");
  const Pattern pattern = read(list_of(flow(0, "[1, 3]", "1", "2", "4") + "," + background));
  EXPECT_EQ(pattern.name, "mine");
  EXPECT_EQ(pattern.rank_count, 4);
  EXPECT_EQ(pattern.busbw_factor, 1.0);
  const Flow multicast{.source = Rank(0),
                       .target = Rank(1),
                       .source_offset = 1_B,
                       .target_offset = 2_B,
                       .size = 4_B,
                       .flow_class = FlowClass::kForeground,
                       .more_targets = {Rank(3)}};
  const Flow own{Rank(1), Rank(1), 5_B, 6_B, 7_B, FlowClass::kBackground};
  EXPECT_THAT(pattern.flows, testing::ElementsAre(multicast, own));
  EXPECT_EQ(pattern.message_size, 11_B);  // rank 1 receives 4 and 7
}

TEST(FlowList, CountsAMulticastOnceForItsSender) {
  EXPECT_EQ(read(list_of(flow(0, "[1, 2, 3]", "0", "0", "10"))).message_size, 10_B);
  EXPECT_EQ(read(list_of(flow(0, "[1]", "0", "0", "10") + "," + flow(0, "[2]", "0", "0", "10")))
                .message_size,
            20_B);
}

TEST(FlowList, LeavesOutFlowsOfNothing) {
  const Pattern pattern =
      read(list_of(flow(0, "[1]", "0", "5", "0") + "," + flow(0, "[1]", "0", "0", "10")));
  EXPECT_EQ(pattern.flows.size(), 1U);
  EXPECT_TRUE(read(list_of("")).flows.empty());
  EXPECT_EQ(read(list_of("")).message_size, 0_B);
}

TEST(FlowList, NamesTheTwoFlowsThatWriteTheSameByte) {
  EXPECT_EQ(refused(list_of(flow(0, "[2]", "0", "8", "8") + "," + flow(1, "[3]", "0", "0", "64") +
                            "," + flow(1, "[2, 3]", "0", "0", "9"))),
            "f.json: flows[0] and flows[2] both write byte 8 of rank 2: expected one flow for each "
            "byte");
  // One ends where the other begins.
  EXPECT_EQ(refused(list_of(flow(0, "[2]", "0", "8", "8") + "," + flow(1, "[2]", "0", "0", "8"))),
            "accepted");
  // Far from its neighbour, but inside a long one.
  EXPECT_THAT(
      refused(list_of(flow(0, "[2]", "0", "0", "100") + "," + flow(1, "[2]", "0", "10", "1") + "," +
                      flow(1, "[2]", "0", "50", "1"))),
      testing::HasSubstr("flows[0] and flows[1]"));
}

TEST(FlowList, RefusesTargetsThatAreNotAscendingRanks) {
  const auto with_targets = [](std::string_view targets) {
    return refused(list_of(flow(1, targets, "0", "0", "1")));
  };
  EXPECT_EQ(with_targets("[]"),
            "f.json: key 'flows[0].targets' = [...]: expected at least one rank");
  EXPECT_EQ(with_targets("[3, 2]"),
            "f.json: key 'flows[0].targets' = [...]: expected ascending ranks, each once");
  EXPECT_EQ(with_targets("[2, 2]"),
            "f.json: key 'flows[0].targets' = [...]: expected ascending ranks, each once");
  EXPECT_EQ(with_targets("[4]"),
            "f.json: key 'flows[0].targets' = [...]: expected an array of whole numbers from 0 to "
            "3");
  EXPECT_THAT(with_targets("[1, 2]"), testing::HasSubstr("expected no source among several ranks"));
  EXPECT_EQ(with_targets("[1]"), "accepted");
}

TEST(FlowList, RefusesWhatExceedsABuffer) {
  EXPECT_EQ(refused(list_of(flow(0, "[1]", "0", "0", "1125899906842625"))),
            "f.json: key 'flows[0].size_bytes' = 1125899906842625: expected a whole number from 0 "
            "to 1125899906842624");
  EXPECT_EQ(refused(list_of(flow(0, "[1]", "0", "1", "1125899906842624"))),
            "f.json: key 'flows[0].target_offset_bytes' = 1: expected a whole number from 0 to 0");
  EXPECT_EQ(refused(list_of(flow(0, "[1]", "0", "0", "1125899906842624") + "," +
                            flow(0, "[2]", "0", "0", "1"))),
            "f.json: flows[1]: rank 0 sends 1125899906842625 bytes so far: expected at most "
            "1125899906842624");
}

TEST(FlowList, RefusesUnknownKeysClassesVersionsAndNames) {
  std::string extra = flow(0, "[1]", "0", "0", "1");
  extra.insert(extra.size() - 1, R"(, "via": 2)");
  EXPECT_EQ(refused(list_of(extra)), "f.json: key 'flows[0].via' = 2: expected no such key");
  std::string hurry = flow(0, "[1]", "0", "0", "1");
  hurry.insert(hurry.size() - 1, R"(, "class": "hurry")");
  EXPECT_EQ(refused(list_of(hurry)),
            "f.json: key 'flows[0].class' = \"hurry\": expected foreground or background");
  EXPECT_EQ(refused(R"({"schema": 2})"),
            "f.json: key 'schema' = 2: expected a whole number from 1 to 1");
  EXPECT_EQ(refused(list_of("", "alltoall")),
            "f.json: key 'name' = \"alltoall\": expected another name than the built-in patterns "
            "have");
  for (const std::string_view name : {"", "a b", "a,b", "a\\nb"}) {
    EXPECT_THAT(refused(list_of("", name)),
                testing::HasSubstr("expected 1 to 64 letters, digits, '-', '_' and '.'"));
  }
  EXPECT_EQ(refused("{"), "f.json:1:2: found end of file: expected valid JSON");
}

class PatternFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / "hoccl_pattern_file_test";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::filesystem::path written(const std::string& name,
                                              const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(PatternFile, IsAMatrixOrAFlowListByItsEnding) {
  TrafficMatrix matrix(2, 2);
  matrix << 1, 2,  //
      3, 4;
  const std::filesystem::path csv = written("m.csv", "1,2\n3,4\n");
  EXPECT_EQ(load_pattern(csv, false), all_to_all_v(matrix, false));
  EXPECT_EQ(load_pattern(csv, true), all_to_all_v(matrix, true));
  const std::string text = list_of(flow(0, "[0]", "0", "0", "1"));
  EXPECT_EQ(load_pattern(written("f.json", text), true), read(text));
}

TEST_F(PatternFile, RefusesOtherEndingsAndFilesThatAreNotThere) {
  EXPECT_EQ(refusal([] { load_pattern("pattern.toml", false); }),
            "pattern.toml: expected a file name that ends in .csv (traffic matrix) or .json (flow "
            "list)");
  EXPECT_EQ(refusal([] { load_pattern("no/such.json", false); }),
            "no/such.json: cannot be read: expected a flow list (JSON)");
  const std::string folder = written("folder.json", "").parent_path().string();
  EXPECT_EQ(refusal([&] { load_flow_list(folder); }),
            folder + ": cannot be read: expected a flow list (JSON)");
}

}  // namespace
}  // namespace hoccl::engine
