#include "hw/link/control_frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hoccl::hw {
namespace {

constexpr FrameLimits kLimits{.sender_nics = 2, .receiver_nics = 3};

ConnectFrame connect_frame() {
  ConnectFrame frame{7, 2, 1, 2, 5, {}};
  frame.sender.number = 0x1234;
  frame.sender.first_packet = 0xabcdef;
  frame.sender.nic.mtu_bytes = 4096;
  return frame;
}

ItemFrame item_frame() {
  ItemFrame frame;
  frame.conduit = 3;
  frame.header.sequence = 9;
  return frame;
}

/// One of each kind.
std::vector<ControlFrame> all_frames() {
  AcceptFrame accept;
  accept.conduit = 1;
  accept.attempt = 1;
  ImportedFrame imported;
  imported.buffer = 4;
  imported.ok = 1;
  imported.size_bytes = 100;
  imported.keys[15] = 77;
  return {connect_frame(),
          accept,
          RefuseFrame{1, 1, 0, 113, 0},
          CloseFrame{1, 1},
          ClosedFrame{1, 1, 3},
          BrokenFrame{1, 1},
          item_frame(),
          ImportFrame{2},
          imported};
}

bool is_accepted(const ControlFrame& frame, const FrameLimits& limits = kLimits) {
  return decode_control_frame(encode(frame), limits).has_value();
}

TEST(ControlFrame, OfEveryKindIsReadAsItWasWritten) {
  for (const ControlFrame& frame : all_frames()) {
    const std::string bytes = encode(frame);
    const auto read = decode_control_frame(bytes, kLimits);
    ASSERT_TRUE(read.has_value()) << frame.index();
    EXPECT_EQ(read->index(), frame.index());
    EXPECT_EQ(encode(*read), bytes);
  }
}

TEST(ControlFrame, OfAnotherSizeIsRefused) {
  for (const ControlFrame& frame : all_frames()) {
    const std::string bytes = encode(frame);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_control_frame(bytes.substr(0, size), kLimits)) << frame.index();
    }
    EXPECT_FALSE(decode_control_frame(bytes + "x", kLimits)) << frame.index();
  }
}

TEST(ControlFrame, OfAnUnknownKindIsRefused) {
  std::string bytes = encode(CloseFrame{1, 1});
  bytes[0] = static_cast<char>(std::variant_size_v<ControlFrame>);
  EXPECT_FALSE(decode_control_frame(bytes, kLimits));
  bytes[3] = '\x7f';
  EXPECT_FALSE(decode_control_frame(bytes, kLimits));
}

TEST(ControlFrame, NamesOnlyNicsThatThereAre) {
  ConnectFrame frame = connect_frame();
  frame.sender_nic = kLimits.sender_nics;
  EXPECT_FALSE(is_accepted(frame));
  frame = connect_frame();
  frame.receiver_nic = kLimits.receiver_nics;
  EXPECT_FALSE(is_accepted(frame));
}

TEST(ControlFrame, HasFieldsWithinTheirRanges) {
  ConnectFrame connect = connect_frame();
  connect.conduit = kMaxConduits;
  EXPECT_FALSE(is_accepted(connect));
  connect = connect_frame();
  connect.attempt = 0;
  EXPECT_FALSE(is_accepted(connect));
  connect = connect_frame();
  connect.first_sequence = 0;
  EXPECT_FALSE(is_accepted(connect));
  connect = connect_frame();
  connect.sender.number = 1U << 24;
  EXPECT_FALSE(is_accepted(connect));
  connect = connect_frame();
  connect.sender.nic.is_infiniband = 2;
  EXPECT_FALSE(is_accepted(connect));

  EXPECT_FALSE(is_accepted(RefuseFrame{1, 1, 0, 0, 0}));
  EXPECT_FALSE(is_accepted(RefuseFrame{1, 1, 0, -5, 0}));
  EXPECT_FALSE(is_accepted(CloseFrame{1, 0}));
  EXPECT_FALSE(is_accepted(ImportFrame{-1}));
  ItemFrame item = item_frame();
  item.header.sequence = 0;
  EXPECT_FALSE(is_accepted(item));
  item = item_frame();
  item.header.record.kind = Record::Kind::kArrival;  // its payload would be missing
  EXPECT_FALSE(is_accepted(item));
  ImportedFrame imported;
  imported.buffer = 1;
  imported.size_bytes = -1;
  EXPECT_FALSE(is_accepted(imported));
}

}  // namespace
}  // namespace hoccl::hw
