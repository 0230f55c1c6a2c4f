#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <thread>
#include <vector>

#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/star_message.h"
#include "tests/hw/bootstrap/thread_job.h"

namespace hoccl::hw::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::vector<std::string>> gather_on_all(std::vector<std::unique_ptr<Bootstrap>>& ranks,
                                                    const std::vector<std::string>& blobs) {
  std::vector<std::vector<std::string>> results(ranks.size());
  const auto errors = run_ranks(static_cast<int>(ranks.size()), [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    results[index] = ranks[index]->all_gather(blobs[index]);
  });
  EXPECT_THAT(errors, Each(""));
  return results;
}

TEST(Bootstrap, GathersTheBlobsOfTwoRanksOnBoth) {
  auto ranks = connect_all(2);
  EXPECT_THAT(gather_on_all(ranks, {"left", ""}), Each(ElementsAre("left", "")));
}

TEST(Bootstrap, GathersRepeatedlyOnEightRanks) {
  auto ranks = connect_all(8);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> blobs;
    for (int rank = 0; rank < 8; ++rank) {
      blobs.push_back(std::to_string(round) + ":" + std::to_string(rank));
    }
    EXPECT_THAT(gather_on_all(ranks, blobs), Each(blobs));
  }
}

TEST(Bootstrap, GathersTheLargestBlobs) {
  auto ranks = connect_all(3);
  const std::vector<std::string> blobs = {std::string(kMaxBlob, 'a'), std::string(kMaxBlob, 'b'),
                                          std::string(kMaxBlob, 'c')};
  for (const auto& result : gather_on_all(ranks, blobs)) EXPECT_TRUE(result == blobs);
}

TEST(Bootstrap, ASingleRankIsAJob) {
  auto ranks = connect_all(1);
  EXPECT_THAT(ranks[0]->all_gather("alone"), ElementsAre("alone"));
}

TEST(Bootstrap, RanksOfOneProcessAreOnOneHost) {
  const auto ranks = connect_all(3);
  EXPECT_FALSE(ranks[0]->host_of(engine::Rank(0)).empty());
  for (int rank = 1; rank < 3; ++rank) {
    EXPECT_EQ(ranks[2]->host_of(engine::Rank(rank)), ranks[0]->host_of(engine::Rank(0)));
  }
}

TEST(Bootstrap, AgreementFailsOnEveryRankAndNamesTheFirstThatDiffers) {
  auto ranks = connect_all(4);
  const auto errors = run_ranks(4, [&](int rank) {
    require_agreement(*ranks[static_cast<std::size_t>(rank)], "topology",
                      rank >= 2 ? "h800-2x8" : "h200-1x1");
  });
  EXPECT_THAT(errors,
              Each("rank 2 has another topology than rank 0: h800-2x8 instead of h200-1x1"));
  EXPECT_THAT(run_ranks(4,
                        [&](int rank) {
                          require_agreement(*ranks[static_cast<std::size_t>(rank)], "seed", "7");
                        }),
              Each(""));
}

TEST(Bootstrap, ALostRankIsNamedOnEveryRankAndEverAfter) {
  auto ranks = connect_all(4);
  ranks[2].reset();
  for (int round = 0; round < 2; ++round) {
    const auto errors = run_ranks(4, [&](int rank) {
      if (rank != 2) ranks[static_cast<std::size_t>(rank)]->barrier();
    });
    EXPECT_THAT(errors, ElementsAre("rank 2 was lost", "rank 2 was lost", "", "rank 2 was lost"));
  }
}

/// What `rank` is told when something has happened to its connections, after a while otherwise.
std::string news_of(Bootstrap& rank) {
  std::vector<pollfd> watched;
  rank.add_to(watched);
  constexpr int kPatienceMs = 20'000;
  EXPECT_GT(::poll(watched.data(), watched.size(), kPatienceMs), 0);
  try {
    rank.require_nobody_lost();
  } catch (const BootstrapError& error) {
    return error.what();
  }
  return "";
}

TEST(Bootstrap, ALostRankIsNamedBetweenExchangesAndEverAfter) {
  auto ranks = connect_all(4);
  for (const int rank : {0, 1, 3}) ranks[static_cast<std::size_t>(rank)]->require_nobody_lost();
  ranks[2].reset();
  for (const int rank : {0, 1, 3}) {
    EXPECT_EQ(news_of(*ranks[static_cast<std::size_t>(rank)]), "rank 2 was lost");
  }
  EXPECT_THAT([&] { ranks[0]->require_nobody_lost(); },
              testing::ThrowsMessage<BootstrapError>("rank 2 was lost"));
  EXPECT_THAT([&] { ranks[1]->barrier(); },
              testing::ThrowsMessage<BootstrapError>("rank 2 was lost"));
}

TEST(Bootstrap, ARankThatIsAheadIsNoLoss) {
  auto ranks = connect_all(2);
  std::thread ahead([&] { ranks[1]->barrier(); });
  EXPECT_EQ(news_of(*ranks[0]), "");
  ranks[0]->barrier();
  ahead.join();
}

TEST(Bootstrap, LosingRankZeroIsNamedOnEveryOther) {
  auto ranks = connect_all(3);
  ranks[0].reset();
  const auto errors = run_ranks(3, [&](int rank) {
    if (rank != 0) ranks[static_cast<std::size_t>(rank)]->barrier();
  });
  EXPECT_THAT(errors, ElementsAre("", "rank 0 was lost", "rank 0 was lost"));
}

TEST(Bootstrap, LateRanksAreNamedOnTheOthersAfterTheTimeout) {
  auto ranks = connect_all(4, {.exchange_timeout = engine::Seconds(1.0)});
  const auto errors = run_ranks(4, [&](int rank) {
    if (rank == 0 || rank == 3) ranks[static_cast<std::size_t>(rank)]->barrier();
  });
  EXPECT_THAT(errors, ElementsAre("ranks 1, 2 did not answer within 1 s", "", "",
                                  "ranks 1, 2 did not answer within 1 s"));
}

}  // namespace
}  // namespace hoccl::hw::test
