#include "engine/schedule/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/pattern/sendrecv.h"
#include "engine/schedule/compile.h"
#include "tests/engine/schedule/topologies.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using testing::HasSubstr;
using testing::StartsWith;

Plan striped_plan() {
  return compile(send_recv(16, Rank(0), Rank(8), 10_MiB), cluster(2, 8),
                 {.chunk_size = 1_MiB, .rails = 2, .forwarding = Forwarding::kSymmetric});
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

std::string refused(const std::string& text) {
  return refusal([&] { plan_from_json(text, "p.json"); });
}

TEST(PlanJson, ReadsBackWhatItWrote) {
  Plan plan = striped_plan();
  plan.transfers[1].flow_class = FlowClass::kBackground;
  plan.transfers[1].stage = 3;
  EXPECT_EQ(plan_from_json(plan_to_json(plan), "p.json"), plan);
  const Plan ring = compile(send_recv_ring(16, 3_MiB), cluster(2, 8), {});
  EXPECT_EQ(plan_from_json(plan_to_json(ring), "p.json"), ring);
  Plan empty = striped_plan();
  empty.transfers.clear();
  empty.pattern = "a \"quoted\" name";
  EXPECT_EQ(plan_from_json(plan_to_json(empty), "p.json"), empty);
}

TEST(PlanJson, TextIsStableAndCarriesUnitsInItsKeys) {
  CompileOptions options;
  options.chunk_size = 4_MiB;
  const Plan plan = compile(send_recv(16, Rank(0), Rank(8), 4_KiB), cluster(2, 8), options);
  EXPECT_EQ(plan_to_json(plan), R"({
  "schema": 2,
  "pattern": "sendrecv",
  "topology": "test-2x8",
  "rank_count": 16,
  "message_size_bytes": 4096,
  "chunk_size_bytes": 4194304,
  "order": "critical",
  "stage_lists": [],
  "transfers": [
    {"id": 0, "source": 0, "target": 8, "source_offset_bytes": 0, "target_offset_bytes": 0, "size_bytes": 4096, "class": "foreground", "route": "staged", "send_nic": 1, "receive_nic": 9, "stage": 0}
  ]
}
)");
}

/// Everything a plan can say, fit for no machine in particular.
Plan full_plan() {
  Plan plan = striped_plan();
  plan.order = Order::kBvn;
  plan.stage_lists = {{.total = 8, .marks = {{0, 3}, {2, 8}}},
                      {.total = kMaxStageListTotal, .marks = {{kMaxStage, kMaxStageListTotal}}}};
  Transfer& first = plan.transfers[0];
  first.stage_list = 1;
  first.more_targets = {Rank(9), Rank(11)};
  first.branches = {
      {.receive_nic = NicId(3), .target = Rank(2), .more_targets = {Rank(4)}, .stage = 7},
      {.receive_nic = NicId(5), .target = Rank(7), .stage_list = 0}};
  plan.transfers[1].id = FlowId(5);
  Transfer direct;
  direct.id = FlowId(7);
  direct.source = Rank(8);
  direct.target = Rank(9);
  direct.source_offset = 1_MiB;
  direct.target_offset = 2_MiB;
  direct.size = 3_MiB;
  direct.after = FlowId(5);
  plan.transfers.push_back(direct);
  direct.id = FlowId(2147483647);
  direct.after = FlowId::none();
  direct.target = Rank(8);
  direct.route = Route::kRelayed;
  direct.via = PlaceId(17);
  plan.transfers.push_back(direct);
  Transfer registered = plan.transfers[1];
  registered.id = FlowId(6);
  registered.route = Route::kRegistered;
  registered.stage = 2;
  registered.after = FlowId(5);
  plan.transfers.insert(plan.transfers.begin() + 2, registered);
  return plan;
}

TEST(PlanJson, ReadsBackListsBranchesChainsAndRelays) {
  for (const Order order : {Order::kCritical, Order::kBvn, Order::kRotation, Order::kLocal}) {
    Plan plan = full_plan();
    plan.order = order;
    const std::string text = plan_to_json(plan);
    EXPECT_EQ(plan_from_json(text, "p.json"), plan);
    EXPECT_EQ(plan_to_json(plan_from_json(text, "p.json")), text);
  }
}

TEST(PlanJson, WritesOnlyTheKeysThatSaySomething) {
  const std::string text = plan_to_json(full_plan());
  for (const char* line : {
           R"("order": "bvn",)",
           R"({"total": 8, "marks": [[0, 3], [2, 8]]},)",
           R"("route": "staged", "send_nic": 1, "receive_nic": 9, "stage_list": 1, )"
           R"("more_targets": [9, 11], "branches": [{"receive_nic": 3, "target": 2, "stage": 7, )"
           R"("more_targets": [4]}, {"receive_nic": 5, "target": 7, "stage_list": 0}]},)",
           R"("route": "registered", "after": 5, "send_nic": 2, "receive_nic": 10, "stage": 2},)",
           R"("class": "foreground", "route": "direct", "after": 5},)",
           R"("class": "foreground", "route": "relayed", "via": 17})",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(PlanJson, RefusesStageListsThatDoNotAscendToTheirTotal) {
  const std::string text = plan_to_json(full_plan());
  const std::string expected =
      "p.json: key 'stage_lists[0].marks' = [...]: expected [stage, end] pairs, both ascending, "
      "stages 0 to 65535, the last end 8";
  for (const char* marks :
       {"[]", "[[0, 3]]", "[[0, 9]]", "[[0, 3], [0, 8]]", "[[2, 3], [0, 8]]", "[[0, 8], [2, 8]]",
        "[[0, 0], [2, 8]]", "[[-1, 8]]", "[[65536, 8]]", "[[0, 8.0]]", "[[0, 3, 8]]", "[8]",
        "[[0, 18446744073709551615]]", "[[0, 3], [18446744073709551615, 8]]", "[[0, \"8\"]]"}) {
    EXPECT_EQ(refused(replaced(text, "[[0, 3], [2, 8]]", marks)), expected) << marks;
  }
  EXPECT_EQ(refused(replaced(text, R"("total": 8)", R"("total": 0)")),
            "p.json: key 'stage_lists[0].total' = 0: expected a whole number from 1 to 1073741824");
  EXPECT_EQ(refused(replaced(text, R"("stage_list": 0)", R"("stage_list": 2)")),
            "p.json: key 'transfers[0].branches[1].stage_list' = 2: expected a whole number from "
            "0 to 1");
}

TEST(PlanJson, RefusesAStageBesideAStageList) {
  EXPECT_EQ(refused(replaced(plan_to_json(full_plan()), R"("stage_list": 1)",
                             R"("stage": 0, "stage_list": 1)")),
            "p.json: key 'transfers[0].stage' = 0: expected no such key");
}

struct Malformed {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};

class MalformedPlan : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedPlan, IsRefusedInOneLineNamingFileKeyValueAndWhatWasExpected) {
  const Malformed& bad = GetParam();
  const std::string message = refused(replaced(plan_to_json(striped_plan()), bad.from, bad.to));
  EXPECT_EQ(message, std::string("p.json: ") + bad.message);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

constexpr Malformed kMalformed[] = {
    {"OtherSchema", R"("schema": 2)", R"("schema": 1)",
     "key 'schema' = 1: expected a whole number from 2 to 2"},
    {"NoSchema", R"("schema": 2,)", "",
     "key 'schema' is missing: expected a whole number from 2 to 2"},
    {"UnknownOrder", R"("order": "critical")", R"("order": "random")",
     "key 'order' = \"random\": expected critical, bvn, rotation or local"},
    {"NoOrder", R"("order": "critical",)", "", "key 'order' is missing: expected a text"},
    {"NoStageLists", R"("stage_lists": [],)", "",
     "key 'stage_lists' is missing: expected an array"},
    {"NoId", R"("id": 0, )", "",
     "key 'transfers[0].id' is missing: expected a whole number from 0 to 2147483647"},
    {"NegativeAfter", R"("class": "foreground", "route": "staged",)",
     R"("class": "foreground", "route": "staged", "after": -1,)",
     "key 'transfers[0].after' = -1: expected a whole number from 0 to 2147483647"},
    {"StagedVia", R"("route": "staged",)", R"("route": "staged", "via": 3,)",
     "key 'transfers[0].via' = 3: expected no such key"},
    {"RelayedWithoutVia", R"("route": "staged")", R"("route": "relayed")",
     "key 'transfers[0].via' is missing: expected a whole number from 0 to 2147483647"},
    {"ListWithoutLists", R"("stage": 0)", R"("stage_list": 0)",
     "key 'transfers[0].stage_list' = 0: expected none, for the plan has no lists"},
    {"StageListsTwice", R"("stage_lists": [])",
     R"("stage_lists": [{"total": 1, "marks": [[0, 1]]}], "stage_lists": [])",
     "key 'stage_lists' occurs twice: expected each key once"},
    {"NoBranches", R"("stage": 0)", R"("stage": 0, "branches": [])",
     "key 'transfers[0].branches' = [...]: expected 1 to 3 branches"},
    {"UnknownTopKey", R"("pattern":)", R"("author": "x", "pattern":)",
     "key 'author' = \"x\": expected no such key"},
    {"UnknownTransferKey", R"("source": 0,)", R"("source": 0, "rail": 3,)",
     "key 'transfers[0].rail' = 3: expected no such key"},
    {"DoubleKey", R"("source": 0,)", R"("source": 0, "source": 1,)",
     "key 'source' occurs twice: expected each key once"},
    {"PatternNotText", R"("pattern": "sendrecv")", R"("pattern": 7)",
     "key 'pattern' = 7: expected a text"},
    {"NoTopology", R"("topology": "test-2x8",)", "", "key 'topology' is missing: expected a text"},
    {"NoRanks", R"("rank_count": 16)", R"("rank_count": 0)",
     "key 'rank_count' = 0: expected a whole number from 1 to 65535"},
    {"SizeAsText", R"("message_size_bytes": 10485760)", R"("message_size_bytes": "10MiB")",
     "key 'message_size_bytes' = \"10MiB\": expected a whole number from 0 to 1125899906842624"},
    {"NegativeMessage", R"("message_size_bytes": 10485760)", R"("message_size_bytes": -1)",
     "key 'message_size_bytes' = -1: expected a whole number from 0 to 1125899906842624"},
    {"ZeroChunk", R"("chunk_size_bytes": 1048576)", R"("chunk_size_bytes": 0)",
     "key 'chunk_size_bytes' = 0: expected a whole number from 1 to 4294967295"},
    {"FractionalChunk", R"("chunk_size_bytes": 1048576)", R"("chunk_size_bytes": 1048576.0)",
     "key 'chunk_size_bytes' = 1048576.0: expected a whole number from 1 to 4294967295"},
    {"TransfersNotArray", R"("transfers": [)", R"("transfers": 3, "more": [)",
     "key 'transfers' = 3: expected an array"},
    {"TransferNotObject", R"("transfers": [)", R"("transfers": [null,)",
     "key 'transfers[0]' = null: expected an object"},
    {"SourceOutOfRange", R"("source": 0,)", R"("source": 16,)",
     "key 'transfers[0].source' = 16: expected a whole number from 0 to 15"},
    {"TargetNegative", R"("target": 8,)", R"("target": -8,)",
     "key 'transfers[0].target' = -8: expected a whole number from 0 to 15"},
    {"NegativeOffset", R"("source_offset_bytes": 0)", R"("source_offset_bytes": -4096)",
     "key 'transfers[0].source_offset_bytes' = -4096: expected a whole number from 0 to "
     "1125899906842624"},
    {"HugeOffset", R"("target_offset_bytes": 0)", R"("target_offset_bytes": 18446744073709551615)",
     "key 'transfers[0].target_offset_bytes' = 18446744073709551615: expected a whole number from "
     "0 to 1125899906842624"},
    {"EmptyTransfer", R"("size_bytes": 5242880)", R"("size_bytes": 0)",
     "key 'transfers[0].size_bytes' = 0: expected a whole number from 1 to 1125899906842624"},
    {"UnknownClass", R"("class": "foreground")", R"("class": "urgent")",
     "key 'transfers[0].class' = \"urgent\": expected foreground or background"},
    {"UnknownRoute", R"("route": "staged")", R"("route": "teleport")",
     "key 'transfers[0].route' = \"teleport\": expected direct, staged, relayed or registered"},
    {"DirectWithNic", R"("route": "staged")", R"("route": "direct")",
     "key 'transfers[0].receive_nic' = 9: expected no such key"},
    {"RegisteredWithoutNic", R"("route": "staged", "send_nic": 1,)", R"("route": "registered",)",
     "key 'transfers[0].send_nic' is missing: expected a whole number from 0 to 2147483647"},
    {"RegisteredWithoutStage", R"("route": "staged", "send_nic": 1, "receive_nic": 9, "stage": 0)",
     R"("route": "registered", "send_nic": 1, "receive_nic": 9)",
     "key 'transfers[0].stage' is missing: expected a whole number from 0 to 65535"},
    {"RegisteredToMany", R"("route": "staged", "send_nic": 1, "receive_nic": 9, "stage": 0)",
     R"("route": "registered", "send_nic": 1, "receive_nic": 9, "stage": 0, "more_targets": [9])",
     "key 'transfers[0].more_targets' = [...]: expected no such key"},
    {"RegisteredWithBranches", R"("route": "staged", "send_nic": 1, "receive_nic": 9, "stage": 0)",
     R"("route": "registered", "send_nic": 1, "receive_nic": 9, "stage": 0, "branches": [])",
     "key 'transfers[0].branches' = [...]: expected no such key"},
    {"NegativeNic", R"("send_nic": 1)", R"("send_nic": -1)",
     "key 'transfers[0].send_nic' = -1: expected a whole number from 0 to 2147483647"},
    {"NoReceiveNic", R"("receive_nic": 9, )", "",
     "key 'transfers[0].receive_nic' is missing: expected a whole number from 0 to 2147483647"},
    {"StageTooLarge", R"("stage": 0)", R"("stage": 65536)",
     "key 'transfers[0].stage' = 65536: expected a whole number from 0 to 65535"},
    {"BooleanStage", R"("stage": 0)", R"("stage": true)",
     "key 'transfers[0].stage' = true: expected a whole number from 0 to 65535"},
};

INSTANTIATE_TEST_SUITE_P(All, MalformedPlan, testing::ValuesIn(kMalformed),
                         [](const auto& tested) { return tested.param.name; });

TEST(PlanJson, RefusesAFileThatEndsEarlyWhereverItEnds) {
  const std::string text = plan_to_json(striped_plan());
  // Its last character is a line end, which may be missing.
  for (std::size_t length = 0; length + 1 < text.size(); ++length) {
    const std::string message = refused(text.substr(0, length));
    ASSERT_THAT(message, StartsWith("p.json:")) << length;
    ASSERT_THAT(message, HasSubstr("found end of file: expected valid JSON")) << length;
  }
}

TEST(PlanJson, NamesLineAndColumnOfASyntaxError) {
  const std::string text =
      replaced(plan_to_json(striped_plan()), R"("rank_count": 16)", R"("rank_count": sixteen)");
  // Line 5, after two blanks, the 12 characters of the key, colon and blank.
  EXPECT_EQ(refused(text), "p.json:5:17: found \"s\": expected valid JSON");
}

TEST(PlanJson, RefusesTextThatIsNoObject) {
  EXPECT_EQ(refused("[]"), "p.json: [...]: expected a JSON object");
  EXPECT_EQ(refused("3"), "p.json: 3: expected a JSON object");
  EXPECT_THAT(refused("{} {}"), HasSubstr("expected valid JSON"));
  EXPECT_THAT(refused(std::string("\xff\x00{", 3)), HasSubstr("expected valid JSON"));
  EXPECT_THAT(refused(std::string(100'000, '[')), HasSubstr("expected valid JSON"));
  EXPECT_THAT(refused(R"({"schema": 1e999})"), StartsWith("p.json:"));
}

class PlanFile : public testing::Test {
 protected:
  PlanFile()
      : folder_(std::filesystem::path(testing::TempDir()) /
                ("hoccl_plan_" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~PlanFile() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(PlanFile, SavesAndLoadsAndLeavesNoOtherFile) {
  const std::filesystem::path file = folder_ / "plan.json";
  save_plan(striped_plan(), file);
  save_plan(striped_plan(), file);
  EXPECT_EQ(load_plan(file), striped_plan());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(PlanFile, RefusesWhatCannotBeReadOrWritten) {
  const std::string missing = (folder_ / "missing.json").string();
  EXPECT_EQ(refusal([&] { load_plan(missing); }),
            missing + ": cannot be read: expected a plan file (JSON)");
  EXPECT_EQ(refusal([&] { load_plan(folder_); }),
            folder_.string() + ": cannot be read: expected a plan file (JSON)");
  const std::string nowhere = (folder_ / "no" / "plan.json").string();
  EXPECT_EQ(refusal([&] { save_plan(striped_plan(), nowhere); }),
            nowhere + ": cannot be written: expected a file in a writable folder");
  EXPECT_EQ(refusal([&] { save_plan(striped_plan(), folder_); }),
            folder_.string() + ": cannot be written: expected a file in a writable folder");
}

TEST_F(PlanFile, NamesTheFileInErrorsAboutItsText) {
  const std::filesystem::path file = folder_ / "empty.json";
  std::ofstream{file};
  EXPECT_EQ(refusal([&] { load_plan(file); }),
            file.string() + ":1:1: found end of file: expected valid JSON");
}

}  // namespace
}  // namespace hoccl::engine
