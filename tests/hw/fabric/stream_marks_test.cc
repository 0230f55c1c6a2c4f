#include "hw/stream/stream_marks.h"

#include <gtest/gtest.h>

#include <map>

namespace hoccl::hw {
namespace {

using engine::Gate;
using engine::Sequence;
using engine::StreamId;
using Kind = StreamMarks::Kind;

constexpr Gate kOne{0, StreamId(0)};
constexpr Gate kAnother{1, StreamId(0)};

class StreamMarksTest : public testing::Test {
 protected:
  bool stands() {
    marks_.pass([this](Gate gate) { return reached_[gate]; },
                [this](Gate gate) { return opened_[gate]; });
    return marks_.at_closed_gate();
  }

  StreamMarks marks_;
  std::map<Gate, Sequence> reached_;
  std::map<Gate, Sequence> opened_;
};

TEST_F(StreamMarksTest, AnEmptyStreamStandsNowhere) { EXPECT_FALSE(stands()); }

TEST_F(StreamMarksTest, AStreamStandsAtAClosedGateWhateverIsBehindIt) {
  marks_.add(Kind::kReady, kOne, 1);
  marks_.add(Kind::kWait, kOne, 1);
  marks_.add(Kind::kReady, kOne, 2);
  marks_.add(Kind::kWait, kOne, 2);
  EXPECT_FALSE(stands());  // it is on its way
  reached_[kOne] = 1;
  EXPECT_TRUE(stands());
  opened_[kOne] = 1;
  EXPECT_FALSE(stands());
  reached_[kOne] = 2;
  EXPECT_TRUE(stands());
  opened_[kOne] = 2;
  EXPECT_FALSE(stands());
}

TEST_F(StreamMarksTest, AGateOpenedBeforehandDoesNotHold) {
  opened_[kOne] = 2;
  marks_.add(Kind::kWait, kOne, 1);
  marks_.add(Kind::kWait, kOne, 2);
  EXPECT_FALSE(stands());
  marks_.add(Kind::kWait, kOne, 3);
  EXPECT_TRUE(stands());
}

TEST_F(StreamMarksTest, GatesOfTwoCommunicatorsHoldInTurn) {
  marks_.add(Kind::kWait, kOne, 1);
  marks_.add(Kind::kWait, kAnother, 1);
  opened_[kAnother] = 1;
  EXPECT_TRUE(stands());
  opened_[kOne] = 1;
  EXPECT_FALSE(stands());
}

}  // namespace
}  // namespace hoccl::hw
