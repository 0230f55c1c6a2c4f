#include "engine/trace/perfetto_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/engine/trace/trace_events.h"

namespace hoccl::engine {
namespace {

using nlohmann::json;
using testing::ElementsAre;

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

TEST(PerfettoWriter, SeveralTimelinesShareNoProcessThreadOrArrow) {
  const std::vector<TraceEvent> first = legs(0_us, 0);
  const std::vector<TraceEvent> second = legs(3_us, 0);
  const std::vector<NamedTrace> traces = {{"simulated", first}, {"measured", second}};
  std::ostringstream stream;
  write_trace_perfetto(stream, traces);
  std::vector<std::string> processes;
  for (const json& element : with_phase(stream.str(), "M")) {
    if (element.at("name") != "process_name") continue;
    processes.push_back(element.at("args").at("name"));
    EXPECT_EQ(element.at("pid"), processes.size());
  }
  EXPECT_THAT(processes, ElementsAre("simulated rank 0", "simulated rank 1", "measured rank 0",
                                     "measured rank 1"));
  std::map<int, std::set<int>> processes_of_thread;
  for (const json& slice : with_phase(stream.str(), "X")) {
    processes_of_thread[slice.at("tid")].insert(slice.at("pid").get<int>());
  }
  EXPECT_EQ(processes_of_thread.size(), first.size() + second.size());
  for (const auto& [thread, owners] : processes_of_thread) EXPECT_EQ(owners.size(), 1U) << thread;
  // A chunk of one timeline is not that of the other, although all its numbers are the same.
  std::map<int, std::string> phases;
  for (const json& arrow : with_phase(stream.str(), "stf")) {
    phases[arrow.at("id")] += arrow.at("pid").get<int>() <= 2 ? 's' : 'm';
  }
  EXPECT_EQ(phases, (std::map<int, std::string>{{1, "ssss"}, {2, "mmmm"}}));
}

}  // namespace
}  // namespace hoccl::engine
