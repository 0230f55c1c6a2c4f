#include "hw/stream/stream_marks.h"

#include <gtest/gtest.h>

#include <map>

namespace hoccl::hw {
namespace {

using engine::Gate;
using engine::Sequence;
using engine::StreamId;
using Kind = StreamMarks::Kind;

constexpr Gate kGate{0, StreamId(0)};
constexpr Gate kOther{1, StreamId(0)};

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
  marks_.add(Kind::kReady, kGate, 1);
  marks_.add(Kind::kWait, kGate, 1);
  marks_.add(Kind::kReady, kGate, 2);
  marks_.add(Kind::kWait, kGate, 2);
  EXPECT_FALSE(stands());  // it is on its way
  reached_[kGate] = 1;
  EXPECT_TRUE(stands());
  opened_[kGate] = 1;
  EXPECT_FALSE(stands());
  reached_[kGate] = 2;
  EXPECT_TRUE(stands());
  opened_[kGate] = 2;
  EXPECT_FALSE(stands());
}

TEST_F(StreamMarksTest, AGateOpenedBeforehandDoesNotHold) {
  opened_[kGate] = 2;
  marks_.add(Kind::kWait, kGate, 1);
  marks_.add(Kind::kWait, kGate, 2);
  EXPECT_FALSE(stands());
  marks_.add(Kind::kWait, kGate, 3);
  EXPECT_TRUE(stands());
}

TEST_F(StreamMarksTest, GatesOfTwoCommunicatorsHoldInTurn) {
  marks_.add(Kind::kWait, kGate, 1);
  marks_.add(Kind::kWait, kOther, 1);
  opened_[kOther] = 1;
  EXPECT_TRUE(stands());
  opened_[kGate] = 1;
  EXPECT_FALSE(stands());
}

}  // namespace
}  // namespace hoccl::hw
