#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/trace/atomic_file.h"
#include "engine/trace/csv_writer.h"
#include "engine/trace/perfetto_writer.h"
#include "engine/trace/trace_recorder.h"
#include "engine/trace/track_name.h"

namespace hoccl::engine {
namespace {

using namespace literals;
using nlohmann::json;
using testing::ElementsAre;

constexpr Rank kSource{0};
constexpr Rank kTarget{1};
constexpr Lane kPeerLane{CopyClass::kPeer, 1};

OperationId operation(std::uint32_t number) {
  return {.communicator = 0, .source = 0, .target = 1, .reserved = 0, .number = number};
}

TraceEvent chunk_event(Seconds begin, Seconds end, Track track, std::string_view name,
                       std::int64_t chunk, std::uint32_t operation_number = 1) {
  return {.begin = begin,
          .end = end,
          .track = track,
          .name = name,
          .flow = FlowId(0),
          .chunk = chunk,
          .size = 1_MiB,
          .operation = operation(operation_number)};
}

Track nic(Rank rank, TrackKind kind, std::int32_t index) {
  return {.rank = rank, .kind = kind, .index = index};
}

/// The four legs of one chunk, from `begin` on, each 10 us, the wire seen at both NICs.
std::vector<TraceEvent> legs(Seconds begin, std::int64_t chunk, std::uint32_t number = 1) {
  return {
      chunk_event(begin, begin + 10_us, copy_engine_track(kSource, kPeerLane), "stage_in", chunk,
                  number),
      chunk_event(begin + 10_us, begin + 20_us, nic(kTarget, TrackKind::kNicReceive, 9), "wire",
                  chunk, number),
      chunk_event(begin + 10_us, begin + 20_us, nic(kSource, TrackKind::kNicSend, 1), "wire", chunk,
                  number),
      chunk_event(begin + 20_us, begin + 30_us, copy_engine_track(kTarget, kPeerLane), "deliver",
                  chunk, number),
  };
}

TraceEvent step(Rank rank, Seconds begin, Seconds end) {
  TraceEvent event;
  event.begin = begin;
  event.end = end;
  event.track = {.rank = rank, .kind = TrackKind::kProxy, .index = 0};
  event.name = "step";
  return event;
}

template <class Writer>
std::string written(Writer writer, std::span<const TraceEvent> events) {
  std::ostringstream stream;
  writer(stream, events);
  return stream.str();
}

std::string csv(std::span<const TraceEvent> events) {
  return written([](std::ostream& out, auto all) { write_trace_csv(out, all); }, events);
}

std::string perfetto(std::span<const TraceEvent> events) {
  return written([](std::ostream& out, auto all) { write_trace_perfetto(out, all); }, events);
}

/// Elements of traceEvents with one of the given phases, in file order.
std::vector<json> with_phase(const std::string& text, std::string_view phases) {
  std::vector<json> result;
  const json parsed = json::parse(text);
  for (const json& element : parsed.at("traceEvents")) {
    if (phases.find(element.at("ph").get<std::string>()) != std::string_view::npos) {
      result.push_back(element);
    }
  }
  return result;
}

TEST(TrackName, NamesEveryKind) {
  EXPECT_EQ(track_name(copy_engine_track(kSource, {CopyClass::kPeer, 0})), "peer/0");
  EXPECT_EQ(track_name(copy_engine_track(kSource, {CopyClass::kDeviceToHost, 255})), "d2h/255");
  EXPECT_EQ(track_name(copy_engine_track(kSource, {CopyClass::kHostToDevice, 3})), "h2d/3");
  EXPECT_EQ(track_name(nic(kSource, TrackKind::kNicSend, 4)), "nic 4 send");
  EXPECT_EQ(track_name(nic(kSource, TrackKind::kNicReceive, 4)), "nic 4 receive");
  EXPECT_EQ(track_name(nic(kSource, TrackKind::kProxy, 0)), "proxy");
  EXPECT_EQ(track_name(nic(kSource, TrackKind::kStream, 2)), "stream 2");
  EXPECT_EQ(track_name(nic(kSource, TrackKind::kSm, 7)), "sm 7");
}

TEST(TrackName, LaneSurvivesTheTrackIndex) {
  for (const CopyClass each :
       {CopyClass::kPeer, CopyClass::kDeviceToHost, CopyClass::kHostToDevice}) {
    const Lane lane{each, 17};
    EXPECT_EQ(lane_of(copy_engine_track(kSource, lane)), lane);
  }
}

TEST(CsvWriter, WritesABeginAndAnEndRowPerEvent) {
  const std::vector<TraceEvent> events = {
      chunk_event(1.5_us, 4_us, copy_engine_track(kSource, kPeerLane), "stage_in", 2),
      step(kTarget, 1_us, 2_us)};
  EXPECT_EQ(csv(events),
            "time_ns,rank,engine,event,flow,chunk,bytes\n"
            "1000,1,proxy,step_begin,,,0\n"
            "1500,0,peer/1,stage_in_begin,0,2,1048576\n"
            "2000,1,proxy,step_end,,,0\n"
            "4000,0,peer/1,stage_in_end,0,2,1048576\n");
}

TEST(CsvWriter, EndsBeforeTheNextBeginsAndKeepsInstantsTogether) {
  const std::vector<TraceEvent> events = {step(kSource, 2_us, 3_us), step(kSource, 2_us, 2_us),
                                          step(kSource, 1_us, 2_us)};
  EXPECT_EQ(csv(events),
            "time_ns,rank,engine,event,flow,chunk,bytes\n"
            "1000,0,proxy,step_begin,,,0\n"
            "2000,0,proxy,step_end,,,0\n"
            "2000,0,proxy,step_begin,,,0\n"
            "2000,0,proxy,step_begin,,,0\n"
            "2000,0,proxy,step_end,,,0\n"
            "3000,0,proxy,step_end,,,0\n");
}

TEST(CsvWriter, OfNothingIsTheHeader) {
  EXPECT_EQ(csv({}), "time_ns,rank,engine,event,flow,chunk,bytes\n");
}

TEST(PerfettoWriter, OfNothingIsValidJson) {
  const json parsed = json::parse(perfetto({}));
  EXPECT_EQ(parsed.at("displayTimeUnit"), "ns");
  EXPECT_TRUE(parsed.at("traceEvents").empty());
}

TEST(PerfettoWriter, WritesOneSliceAsTheFormatWantsIt) {
  const std::vector<TraceEvent> events = {
      chunk_event(1.5_us, 4_us, copy_engine_track(kSource, kPeerLane), "stage_in", 2)};
  EXPECT_EQ(
      perfetto(events),
      "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
      "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"rank 0\"}},\n"
      "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":1,\"args\":{\"sort_index\":0}},\n"
      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,"
      "\"args\":{\"name\":\"peer/1\"}},\n"
      "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":1,"
      "\"args\":{\"sort_index\":1}},\n"
      "{\"ph\":\"X\",\"name\":\"stage_in\",\"pid\":1,\"tid\":1,\"ts\":1.500,\"dur\":2.500,"
      "\"args\":{\"operation\":\"0:0->1#1\",\"flow\":0,\"chunk\":2,\"bytes\":1048576}}\n"
      "]}\n");
}

TEST(PerfettoWriter, ArrowFollowsAChunkThroughItsLegs) {
  const std::vector<json> arrows = with_phase(perfetto(legs(5_us, 0)), "stf");
  ASSERT_EQ(arrows.size(), 4U);
  std::vector<std::string> phases;
  for (const json& arrow : arrows) {
    phases.push_back(arrow.at("ph"));
    EXPECT_EQ(arrow.at("id"), arrows[0].at("id"));
    EXPECT_EQ(arrow.at("bp"), "e");
  }
  EXPECT_THAT(phases, ElementsAre("s", "t", "t", "f"));
  // The sending NIC comes before the receiving one although both intervals are the same.
  EXPECT_EQ(arrows[1].at("pid"), kSource.value() + 1);
  EXPECT_EQ(arrows[2].at("pid"), kTarget.value() + 1);
}

TEST(PerfettoWriter, EveryArrowPairsUpAndLiesOnASliceOfItsChunk) {
  std::vector<TraceEvent> events;
  for (std::int64_t chunk = 0; chunk < 20; ++chunk) {
    for (const TraceEvent& leg : legs(5_us * static_cast<double>(chunk), chunk)) {
      events.push_back(leg);
    }
  }
  const std::string text = perfetto(events);
  std::map<std::int64_t, std::string> phases_of_arrow;
  for (const json& arrow : with_phase(text, "stf")) {
    phases_of_arrow[arrow.at("id")] += arrow.at("ph").get<std::string>();
    const std::vector<json> slices = with_phase(text, "X");
    EXPECT_TRUE(std::ranges::any_of(slices, [&arrow](const json& slice) {
      return slice.at("tid") == arrow.at("tid") && slice.at("pid") == arrow.at("pid") &&
             slice.at("ts") == arrow.at("ts");
    })) << arrow;
  }
  EXPECT_EQ(phases_of_arrow.size(), 20U);
  for (auto& [id, phases] : phases_of_arrow) {
    std::ranges::sort(phases);
    EXPECT_EQ(phases, "fstt") << "arrow " << id;
  }
}

TEST(PerfettoWriter, ChunksOfDifferentOperationsAreNotJoined) {
  std::vector<TraceEvent> events = legs(5_us, 0, 1);
  for (const TraceEvent& leg : legs(100_us, 0, 2)) events.push_back(leg);
  std::map<std::int64_t, int> ends;
  for (const json& arrow : with_phase(perfetto(events), "stf")) ++ends[arrow.at("id")];
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends.begin()->second, 4);
}

TEST(PerfettoWriter, ALegWithoutAnotherHasNoArrow) {
  const std::vector<TraceEvent> events = {
      chunk_event(1_us, 2_us, copy_engine_track(kSource, kPeerLane), "direct", 0)};
  EXPECT_TRUE(with_phase(perfetto(events), "stf").empty());
}

TEST(PerfettoWriter, SlicesOfOneLineNeverOverlap) {
  std::vector<TraceEvent> events;
  for (int i = 0; i < 12; ++i) {  // three writes in flight at a time
    events.push_back(
        chunk_event(10_us * i, 10_us * i + 25_us, nic(kSource, TrackKind::kNicSend, 0), "wire", i));
  }
  const std::string text = perfetto(events);
  std::map<int, double> end_of_line;
  for (const json& slice : with_phase(text, "X")) {
    double& end = end_of_line[slice.at("tid").get<int>()];
    EXPECT_GE(slice.at("ts").get<double>(), end - 1e-9);
    end = slice.at("ts").get<double>() + slice.at("dur").get<double>();
  }
  EXPECT_EQ(end_of_line.size(), 3U);
  std::vector<std::string> names;
  for (const json& element : with_phase(text, "M")) {
    if (element.at("name") == "thread_name") names.push_back(element.at("args").at("name"));
  }
  EXPECT_THAT(names, ElementsAre("nic 0 send", "nic 0 send (2)", "nic 0 send (3)"));
}

TEST(PerfettoWriter, EveryLineIsNamedUnderItsRank) {
  const std::string text = perfetto(legs(0_us, 0));
  std::map<int, std::string> rank_of_process;
  std::map<int, std::string> name_of_thread;
  for (const json& element : with_phase(text, "M")) {
    const json& args = element.at("args");
    if (element.at("name") == "process_name") rank_of_process[element.at("pid")] = args.at("name");
    if (element.at("name") == "thread_name") name_of_thread[element.at("tid")] = args.at("name");
  }
  EXPECT_EQ(rank_of_process, (std::map<int, std::string>{{1, "rank 0"}, {2, "rank 1"}}));
  for (const json& slice : with_phase(text, "X")) {
    EXPECT_TRUE(name_of_thread.contains(slice.at("tid"))) << slice;
  }
}

TEST(TraceWriters, DoNotDependOnTheOrderOfRecording) {
  std::vector<TraceEvent> events;
  for (std::int64_t chunk = 0; chunk < 8; ++chunk) {
    for (const TraceEvent& leg : legs(3_us * static_cast<double>(chunk), chunk)) {
      events.push_back(leg);
    }
    events.push_back(step(kSource, 3_us * static_cast<double>(chunk), 100_us));
  }
  const std::string first_csv = csv(events);
  const std::string first_json = perfetto(events);
  std::ranges::reverse(events);
  EXPECT_EQ(csv(events), first_csv);
  EXPECT_EQ(perfetto(events), first_json);
}

TEST(TraceRecorder, KeepsEventsInOrderUntilCleared) {
  TraceRecorder recorder;
  recorder.record(step(kSource, 2_us, 3_us));
  recorder.record(step(kTarget, 1_us, 2_us));
  ASSERT_EQ(recorder.events().size(), 2U);
  EXPECT_EQ(recorder.events()[0].track.rank, kSource);
  EXPECT_EQ(recorder.events()[1].track.rank, kTarget);
  recorder.clear();
  EXPECT_TRUE(recorder.events().empty());
}

class TraceFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string content(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }
  [[nodiscard]] std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_),
                                                  std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;
};

TEST_F(TraceFiles, HoldWhatTheStreamHoldsAndLeaveNothingBeside) {
  const std::vector<TraceEvent> events = legs(0_us, 0);
  write_trace_csv(folder_ / "trace.csv", events);
  write_trace_perfetto(folder_ / "trace.json", events);
  EXPECT_EQ(content(folder_ / "trace.csv"), csv(events));
  EXPECT_EQ(content(folder_ / "trace.json"), perfetto(events));
  EXPECT_EQ(file_count(), 2U);
}

TEST_F(TraceFiles, AppearOnlyWhenComplete) {
  std::ofstream(folder_ / "kept") << "old";
  {
    AtomicFile file(folder_ / "kept");
    file.stream() << "new";
    EXPECT_EQ(content(folder_ / "kept"), "old");
  }
  EXPECT_EQ(content(folder_ / "kept"), "old");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(TraceFiles, InAFolderThatDoesNotExistAreAConfigError) {
  const std::filesystem::path file = folder_ / "missing" / "trace.json";
  try {
    write_trace_perfetto(file, {});
    FAIL() << "no error";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(file.string()));
  }
}

}  // namespace
}  // namespace hoccl::engine
