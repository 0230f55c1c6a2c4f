#include "engine/pipeline/copy_candidates.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace hoccl::engine {
namespace {

/// Flows of one operation that could copy their next chunk of 100 bytes now.
class CopyCandidatesTest : public testing::Test {
 protected:
  CopyCandidatesTest() {
    auto plan = std::make_shared<Plan>();
    plan->chunk_size = Bytes(100);
    state_.operation.plan = plan;
  }

  void offer(int id, Route route, bool passes_on, int chunks = 1, std::int64_t posted = 0) {
    Transfer& transfer = transfers_.emplace_back();
    transfer.id = FlowId(id);
    transfer.route = route;
    transfer.size = Bytes(100) * chunks;
    if (passes_on) transfer.after = FlowId(0);
    SourceFlow& flow = flows_.emplace_back();
    flow.operation = &state_;
    flow.id = FlowId(id);
    flow.transfer = &transfer;
    flow.chunks = chunks;
    flow.posted = posted;
    if (passes_on) flow.available = {posted};
    candidates_.insert(flow, flow.position());
  }

  std::vector<int> order() {
    std::vector<int> ids;
    while (!candidates_.empty()) {
      const SourceFlow* flow =
          candidates_.take([this](const SourceFlow& waiting) { return load_[waiting.id.value()]; },
                           [](const SourceFlow&) { return true; });
      ids.push_back(flow->id.value());
    }
    return ids;
  }

  OperationState state_;
  std::deque<Transfer> transfers_;
  std::deque<SourceFlow> flows_;
  std::map<int, int> load_;
  CopyCandidates candidates_;
};

TEST_F(CopyCandidatesTest, WhatCameFromAnotherNodeAndGoesOnGoesFirst) {
  offer(1, Route::kDirect, false);
  offer(2, Route::kDirect, true);
  offer(3, Route::kStaged, false);
  EXPECT_FALSE(candidates_.leaves_again());
  offer(4, Route::kStaged, true);
  EXPECT_TRUE(candidates_.leaves_again());
  EXPECT_EQ(order(), (std::vector{4, 3, 2, 1}));
}

TEST_F(CopyCandidatesTest, TheSinkWithMostRoomGoesFirst) {
  for (const int id : {1, 2, 3}) offer(id, Route::kDirect, false, 10);
  load_ = {{1, 4}, {2, 1}, {3, 2}};
  EXPECT_EQ(order(), (std::vector{2, 3, 1}));
}

TEST_F(CopyCandidatesTest, ABusySinkIsNotLeftFarBehind) {
  load_ = {{1, 4}, {2, 0}};
  offer(1, Route::kDirect, false, 100, 0);
  offer(2, Route::kDirect, false, 100, 7);
  EXPECT_EQ(order(), (std::vector{2, 1})) << "7 of 100 chunks ahead";
  offer(1, Route::kDirect, false, 100, 0);
  offer(2, Route::kDirect, false, 100, 10);
  EXPECT_EQ(order(), (std::vector{1, 2})) << "10 of 100 chunks ahead";
}

}  // namespace
}  // namespace hoccl::engine
