#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/trace/atomic_file.h"
#include "engine/trace/csv_writer.h"
#include "engine/trace/perfetto_writer.h"
#include "engine/trace/trace_recorder.h"
#include "engine/trace/track_name.h"
#include "tests/engine/trace/trace_events.h"

namespace hoccl::engine {
namespace {

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
