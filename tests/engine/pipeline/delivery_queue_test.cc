#include "engine/pipeline/delivery_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace hoccl::engine {
namespace {

class DeliveryQueueTest : public testing::Test {
 protected:
  void land(int place, std::uint32_t chunk) { land(flow_, place, chunk); }
  void land(TargetFlow& flow, int place, std::uint32_t chunk) {
    Delivery delivery;
    delivery.flow = &flow;
    delivery.descriptor.place = static_cast<std::uint16_t>(place);
    delivery.descriptor.chunk = chunk;
    queue_.push(delivery);
  }
  /// The place of the next one, seen from a rank whose turn begins at `first`.
  int take(int first = 0) {
    return queue_
        .take(PlaceId(first),
              [this](PlaceId place) {
                const auto found = load_.find(place);
                return found == load_.end() ? 0 : found->second;
              })
        .descriptor.place;
  }

  OperationState state_;
  TargetFlow flow_{.operation = &state_, .id = FlowId(0), .transfer = nullptr, .passed_on = {}};
  DeliveryQueue queue_;
  std::map<PlaceId, int> load_;
};

TEST_F(DeliveryQueueTest, PlacesTakeTurnsFromTheRanksOwn) {
  for (const int place : {0, 1, 2, 3}) {
    land(place, 0);
    land(place, 1);
  }
  std::vector<int> order;
  while (!queue_.empty()) order.push_back(take(2));
  EXPECT_EQ(order, (std::vector<int>{2, 3, 0, 1, 2, 3, 0, 1}));
}

TEST_F(DeliveryQueueTest, WhatGoesOnToAnotherNodeGoesFirst) {
  TargetFlow leaves = flow_;
  leaves.leaves_again = true;
  for (const int place : {0, 1}) {
    land(place, 0);
    land(place, 1);
  }
  land(leaves, 2, 0);
  land(leaves, 1, 2);
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(take(), 0);
  EXPECT_EQ(queue_.size(), 3U);
  land(leaves, 0, 2);
  EXPECT_EQ(queue_.drop(state_).size(), 4U);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(DeliveryQueueTest, TheLeastUsedPlaceGoesFirst) {
  for (const int place : {0, 1, 2}) land(place, 0);
  load_ = {{PlaceId(0), 4}, {PlaceId(1), 1}, {PlaceId(2), 3}};
  EXPECT_EQ(take(), 1);
  EXPECT_EQ(take(), 2);
  EXPECT_EQ(take(), 0);
}

TEST_F(DeliveryQueueTest, ABusyPlaceDoesNotFallBehind) {
  load_ = {{PlaceId(0), 9}};
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk) land(0, chunk);
  land(1, 0);
  EXPECT_EQ(take(), 1);  // two more wait at place 0: it can wait
  land(0, 3);
  land(1, 1);
  EXPECT_EQ(take(), 0);
  EXPECT_EQ(take(), 1);
}

TEST_F(DeliveryQueueTest, DropsTheChunksOfAnOperationOnly) {
  OperationState other_state;
  TargetFlow other{
      .operation = &other_state, .id = FlowId(1), .transfer = nullptr, .passed_on = {}};
  land(0, 0);
  Delivery foreign;
  foreign.flow = &other;
  foreign.descriptor.place = 0;
  queue_.push(foreign);
  land(1, 0);
  EXPECT_EQ(queue_.drop(state_).size(), 2U);
  EXPECT_EQ(queue_.size(), 1U);
  EXPECT_EQ(take(), 0);
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace hoccl::engine
