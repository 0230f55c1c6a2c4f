#include "hw/bootstrap/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hw/bootstrap/job_secret.h"

namespace hoccl::hw {
namespace {

class Frame : public testing::Test {
 protected:
  std::string next(const std::string& payload) {
    std::string frame;
    writer_.append(payload, frame);
    return frame;
  }

  const MacKey key_ = JobSecret::generate().key("test");
  FrameWriter writer_{key_};
  FrameReader reader_{key_};
};

TEST_F(Frame, ArrivesInAnyPortions) {
  const std::vector<std::string> payloads = {"", "one", std::string(1000, 'x'), "last"};
  std::string stream;
  for (const std::string& payload : payloads) writer_.append(payload, stream);
  std::vector<std::string> received;
  for (const char letter : stream) {
    reader_.append({&letter, 1});
    while (auto payload = reader_.next()) received.push_back(*payload);
  }
  EXPECT_EQ(received, payloads);
  EXPECT_EQ(reader_.fault(), FrameFault::kNone);
}

TEST_F(Frame, OfTheLargestSizeArrives) {
  reader_.append(next(std::string(kMaxFramePayload, 'x')));
  EXPECT_EQ(reader_.next().value().size(), kMaxFramePayload);
}

TEST_F(Frame, ThatIsOversizedIsAFaultBeforeItsPayloadComes) {
  reader_.append(std::string("\x02\x00\x10\x00", 4));  // 1 MiB + 2
  EXPECT_FALSE(reader_.next().has_value());
  EXPECT_EQ(reader_.fault(), FrameFault::kOversized);
  reader_.append(next("late"));
  EXPECT_FALSE(reader_.next().has_value());
}

TEST_F(Frame, WithAnyByteChangedIsAFault) {
  const std::string frame = next("payload");
  for (std::size_t i = 0; i < frame.size(); ++i) {
    FrameReader reader(key_);
    std::string changed = frame;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    // A larger size makes the reader wait for more.
    reader.append(changed + std::string(1000, '\0'));
    EXPECT_FALSE(reader.next().has_value()) << "byte " << i;
    EXPECT_TRUE(i == 2 || reader.fault() != FrameFault::kNone) << "byte " << i;
  }
}

TEST_F(Frame, ReplayedLeftOutOrReflectedIsAFault) {
  const std::string first = next("first");
  const std::string second = next("second");
  FrameReader replayed(key_);
  replayed.append(first + first);
  EXPECT_EQ(replayed.next(), "first");
  EXPECT_FALSE(replayed.next().has_value());
  EXPECT_EQ(replayed.fault(), FrameFault::kForged);

  FrameReader left_out(key_);
  left_out.append(second);
  EXPECT_FALSE(left_out.next().has_value());
  EXPECT_EQ(left_out.fault(), FrameFault::kForged);

  FrameReader other_direction(JobSecret::generate().key("test"));
  other_direction.append(first);
  EXPECT_FALSE(other_direction.next().has_value());
  EXPECT_EQ(other_direction.fault(), FrameFault::kForged);
}

}  // namespace
}  // namespace hoccl::hw
