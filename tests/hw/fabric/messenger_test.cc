#include "hw/node/messenger.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace hoccl::hw {
namespace {

using engine::Rank;
using Popped = RecordRing::Popped;

Record numbered(std::uint32_t number) {
  Record record;
  record.immediate = number;
  record.payload.fill(static_cast<std::byte>(number));
  return record;
}

/// Three ranks of one host, all in this process.
class Messengers : public testing::Test {
 protected:
  Messengers() {
    for (int rank = 0; rank < kRanks; ++rank) {
      segments_.push_back(RankSegment::create(Rank(rank), kRanks));
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      messengers_.push_back(std::make_unique<Messenger>(Rank(rank), segments_));
    }
  }
  Messenger& of(int rank) { return *messengers_[static_cast<std::size_t>(rank)]; }
  /// Numbers of all records that `rank` can receive now from `sender`.
  std::vector<std::uint32_t> receive(int rank, int sender) {
    std::vector<std::uint32_t> numbers;
    Record record;
    while (of(rank).receive_from(Rank(sender), record) == Popped::kRecord) {
      EXPECT_EQ(record.payload, numbered(record.immediate).payload);
      numbers.push_back(record.immediate);
    }
    return numbers;
  }

  static constexpr int kRanks = 3;
  std::vector<RankSegment> segments_;
  std::vector<std::unique_ptr<Messenger>> messengers_;
};

TEST_F(Messengers, KeepTheOrderOfEachPair) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    of(0).send(Rank(2), numbered(i));
    of(1).send(Rank(2), numbered(10 + i));
  }
  EXPECT_EQ(receive(2, 0), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(receive(2, 1), (std::vector<std::uint32_t>{10, 11, 12, 13, 14}));
}

TEST_F(Messengers, FindWhoeverHasSomethingToSay) {
  of(1).send(Rank(0), numbered(1));
  of(0).send(Rank(0), numbered(2));
  std::set<int> senders;
  Rank sender;
  Record record;
  while (of(0).receive(sender, record) == Popped::kRecord) senders.insert(sender.value());
  EXPECT_EQ(senders, (std::set{0, 1}));
}

TEST_F(Messengers, KeepWhatFindsNoRoomAndSendItInOrderLater) {
  constexpr auto kMany = static_cast<std::uint32_t>(3 * RecordRing::kCapacity + 7);
  for (std::uint32_t i = 0; i < kMany; ++i) of(0).send(Rank(1), numbered(i));
  EXPECT_FALSE(of(0).nothing_to_send());
  std::vector<std::uint32_t> all;
  while (all.size() < kMany) {
    const std::uint32_t rings = segments_[0].doorbell().rings();
    const auto some = receive(1, 0);
    ASSERT_FALSE(some.empty());
    all.insert(all.end(), some.begin(), some.end());
    EXPECT_TRUE(all.size() == kMany || segments_[0].doorbell().rings() != rings) << "nobody told";
    of(0).send_waiting();
  }
  for (std::uint32_t i = 0; i < kMany; ++i) ASSERT_EQ(all[i], i);
  EXPECT_TRUE(of(0).nothing_to_send());
}

TEST_F(Messengers, SayNothingToOrFromALostRank) {
  for (std::uint32_t i = 0; i < RecordRing::kCapacity + 5; ++i) of(0).send(Rank(1), numbered(i));
  of(0).lose(Rank(1));
  EXPECT_TRUE(of(0).nothing_to_send());
  of(1).send(Rank(0), numbered(1));
  EXPECT_TRUE(receive(0, 1).empty());
}

TEST_F(Messengers, RecogniseImpossibleIndices) {
  // The first word of a ring counts what was pushed.
  const std::uint64_t impossible = RecordRing::kCapacity + 1;
  std::memcpy(static_cast<void*>(&segments_[0].ring_from(Rank(1))), &impossible,
              sizeof(impossible));
  Rank sender;
  Record record;
  EXPECT_EQ(of(0).receive(sender, record), Popped::kGarbage);
  EXPECT_EQ(sender, Rank(1));
}

TEST_F(Messengers, CarryRecordsBetweenThreads) {
  constexpr std::uint32_t kMany = 20000;
  std::thread sender([&] {
    for (std::uint32_t i = 0; i < kMany; ++i) {
      of(0).send(Rank(1), numbered(i));
      if (i % 64 == 0) of(0).send_waiting();
    }
    while (!of(0).nothing_to_send()) {
      const std::uint32_t seen = segments_[0].doorbell().rings();
      of(0).send_waiting();
      if (!of(0).nothing_to_send()) segments_[0].doorbell().wait(seen, engine::Seconds(10.0));
    }
  });
  std::uint32_t next = 0;
  while (next < kMany) {
    const std::uint32_t seen = segments_[1].doorbell().rings();
    const auto some = receive(1, 0);
    for (const std::uint32_t number : some) ASSERT_EQ(number, next++);
    if (some.empty()) segments_[1].doorbell().wait(seen, engine::Seconds(10.0));
  }
  sender.join();
}

}  // namespace
}  // namespace hoccl::hw
