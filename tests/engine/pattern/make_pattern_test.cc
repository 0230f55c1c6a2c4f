#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/group.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/sendrecv.h"
#include "engine/pattern/traffic_matrix.h"
#include "tests/engine/pattern/delivery.h"

namespace hoccl::engine {
namespace {

using namespace literals;

PatternRequest request(std::string_view name, Bytes size) {
  PatternRequest result;
  result.name = name;
  result.size = size;
  return result;
}

TEST(MakePattern, BuildsByName) {
  PatternRequest asked = request("sendrecv", 70_B);
  asked.source = Rank(1);
  asked.target = Rank(0);
  asked.root = Rank(2);
  asked.in_place = true;
  asked.matrix = MatrixKind::kZipf;
  asked.seed = 9;
  const auto made = [&](std::string_view name) {
    asked.name = name;
    return make_pattern(asked, 4);
  };
  EXPECT_EQ(made("sendrecv"), send_recv(4, Rank(1), Rank(0), 70_B));
  EXPECT_EQ(made("sendrecv-ring"), send_recv_ring(4, 70_B));
  EXPECT_EQ(made("ppchain"), pp_chain(4, 70_B));
  EXPECT_EQ(made("allgather"), all_gather(4, 70_B, true));
  EXPECT_EQ(made("alltoall"), all_to_all(4, 70_B, true));
  EXPECT_EQ(made("alltoallv"), all_to_all_v(draw_matrix(MatrixKind::kZipf, 4, 70_B, 9), true));
  EXPECT_EQ(made("broadcast"), broadcast(4, Rank(2), 70_B, true));
  EXPECT_EQ(made("gather"), gather(4, Rank(2), 70_B, true));
  EXPECT_EQ(made("scatter"), scatter(4, Rank(2), 70_B, true));
}

TEST(MakePattern, NamesEveryPatternAsItIsAskedFor) {
  for (const std::string_view name : pattern_names()) {
    EXPECT_EQ(make_pattern(request(name, 64_B), 4).name, name);
  }
}

TEST(MakePattern, ListsTheNamesWhenItKnowsNone) {
  EXPECT_EQ(refusal([] { make_pattern(request("allreduce", 7_B), 4); }),
            "pattern = 'allreduce': expected one of: sendrecv, sendrecv-ring, allgather, alltoall, "
            "alltoallv, broadcast, gather, scatter, ppchain");
}

TEST(MakePattern, OfNothingMovesNothing) {
  for (const std::string_view name : pattern_names()) {
    for (const Flow& flow : make_pattern(request(name, 0_B), 4).flows) {
      EXPECT_EQ(flow.size, 0_B) << name;
    }
  }
}

TEST(MakePattern, OfAGroupIsThatOfFewerRanksCarriedOutByThose) {
  const std::vector<Rank> group = {Rank(1), Rank(4), Rank(9)};
  for (const std::string_view name : pattern_names()) {
    PatternRequest asked = request(name, 10_B);
    asked.root = Rank(2);  // an index into the group, as source and target are
    asked.source = Rank(2);
    const Pattern small = make_pattern(asked, 3);
    asked.group = group;
    const Pattern pattern = make_pattern(asked, 12);
    EXPECT_EQ(pattern.rank_count, 12);
    EXPECT_EQ(pattern.message_size, small.message_size);
    EXPECT_EQ(pattern.busbw_factor, small.busbw_factor);
    std::map<Place, Place> expected;
    for (const auto& [to, from] : delivered(small)) {
      expected[{group[to.first.index()], to.second}] = {group[from.first.index()], from.second};
    }
    EXPECT_EQ(delivered(pattern), expected) << name;
  }
}

TEST(MakePattern, RefusesGroupsThatAreNotAscendingRanksOfTheJob) {
  const auto with_group = [](std::vector<Rank> group) {
    return refusal([&] {
      PatternRequest asked = request("allgather", 8_B);
      asked.group = group;
      make_pattern(asked, 4);
    });
  };
  EXPECT_EQ(with_group({Rank(1), Rank(4)}),
            "pattern allgather: group holds rank 4: expected ranks from 0 to 3");
  EXPECT_EQ(with_group({Rank(-1)}),
            "pattern allgather: group holds rank -1: expected ranks from 0 to 3");
  EXPECT_EQ(with_group({Rank(2), Rank(1)}),
            "pattern allgather: group holds rank 1 after 2: expected ascending ranks, each once");
  EXPECT_EQ(with_group({Rank(2), Rank(2)}),
            "pattern allgather: group holds rank 2 after 2: expected ascending ranks, each once");
  EXPECT_EQ(with_group({Rank(2)}), "accepted");
}

TEST(MakePattern, CountsRanksOfTheGroupWhereItNeedsThem) {
  PatternRequest asked = request("sendrecv", 8_B);
  asked.group = {Rank(3)};
  EXPECT_EQ(refusal([&] { make_pattern(asked, 4); }),
            "pattern sendrecv: ranks = 1: expected 2 to 65535");
  asked.name = "broadcast";
  asked.group = {Rank(1), Rank(3)};
  asked.root = Rank(3);
  EXPECT_EQ(refusal([&] { make_pattern(asked, 4); }),
            "pattern broadcast: root = 3: expected a rank from 0 to 1");
}

TEST(OnGroup, RefusesAGroupOfAnotherSizeThanThePattern) {
  EXPECT_EQ(refusal([] {
              on_group(send_recv_ring(3, 1_B), {Rank(0), Rank(1)}, 8);
            }),
            "pattern sendrecv-ring: group of 2 ranks: expected 3");
  EXPECT_EQ(on_group(send_recv_ring(3, 1_B), {}, 3), send_recv_ring(3, 1_B));
}

}  // namespace
}  // namespace hoccl::engine
