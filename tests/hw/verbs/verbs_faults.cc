// What goes wrong on an RDMA network, made to go wrong: the bytes come right where a path remains,
// and otherwise every rank is told why, in bounded time.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "tests/fuzz/seeds.h"
#include "tests/hw/verbs/fault_job.h"
#include "tests/hw/verbs/fault_schedule.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::Seconds;

constexpr Bytes kChunk(64 << 10);
constexpr Bytes kMessage(512 << 10);
/// On an emulated CPU.
constexpr Seconds kPatience(60.0);
/// Both attempts on the only path, each at most four times its retries' time, and the news of it.
constexpr Seconds kBounded(15.0);

void sleep(Seconds time) { std::this_thread::sleep_for(time); }

TEST(VerbsFaults, TwoPercentLossDeliversEveryByte) {
  const PacketLoss there("v0", 2.0);
  const PacketLoss back("v1", 2.0);
  FaultJob job(2, Rails::kOne, kChunk);
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
}

TEST(VerbsFaults, AShortOutageIsWaitedFor) {
  FaultJob job(2, Rails::kOne, kChunk);
  job.enqueue(kMessage);
  {
    const PacketLoss loss("v0", 100.0);
    sleep(Seconds(0.5));
  }
  job.expect_all_right(kPatience);
}

TEST(VerbsFaults, AnOutageForGoodIsAnErrorOnBothSidesAndMessagesWorkAfterwards) {
  FaultJob job(2, Rails::kOne, kChunk);
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
  {
    const PacketLoss loss("v0", 100.0);
    job.enqueue(kMessage);
    job.expect_all_fail(kBounded);
  }
  // Paths are probed; until then messages fail at once.
  FaultJob::Verdict verdict;
  for (int tries = 0; tries < 40 && verdict.right < 2; ++tries) {
    sleep(Seconds(0.3));
    job.enqueue(kChunk);
    verdict = job.judge(kPatience);
    EXPECT_EQ(verdict.wrong, "");
  }
  EXPECT_EQ(verdict.right, 2);
}

TEST(VerbsFaults, BrokenQueuePairsAreReplaced) {
  FaultJob job(2, Rails::kOne, kChunk);
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
  for (std::uint64_t i = 0; i < 4; ++i) {
    job.enqueue(kMessage);
    job.break_queue_pair(Rank(0), i);
    job.break_queue_pair(Rank(1), i + 1);
    job.expect_all_right(kPatience);
  }
}

TEST(VerbsFaults, ChunksOfALostRailTakeTheOtherAndReturn) {
  FaultJob job(4, Rails::kTwo, kChunk);
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
  {
    const PacketLoss loss("v0", 100.0);
    job.enqueue(kMessage);
    job.expect_all_right(kPatience);
    const std::int64_t before = counter("rxe2", "sent_pkts");
    job.enqueue(kMessage);
    job.expect_all_right(kPatience);
    EXPECT_GT(counter("rxe2", "sent_pkts") - before, kMessage.count() / 4096);
  }
  sleep(Seconds(2.0));  // several probes
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
  const std::int64_t before = counter("rxe0", "sent_pkts");
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
  EXPECT_GT(counter("rxe0", "sent_pkts") - before, kMessage.count() / 4096);
}

TEST(VerbsFaults, AKilledPeerIsReportedToEverySurvivor) {
  FaultJob job(4, Rails::kOne, kChunk);
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
  job.enqueue(kMessage);
  job.kill(Rank(2));
  const FaultJob::Verdict verdict = job.judge(kBounded);
  EXPECT_EQ(verdict.wrong, "");
  EXPECT_GT(verdict.failed, 0);
  // Among those who live: what needed the dead one as a relay fails, at once and with its name.
  job.enqueue(kMessage);
  const FaultJob::Verdict after = job.judge(kBounded);
  EXPECT_EQ(after.wrong, "");
  EXPECT_EQ(after.right + after.failed, 4);
}

TEST(VerbsFaults, AnMtuThatShrinksIsTakenUp) {
  FaultJob job(2, Rails::kOne, kChunk);
  job.enqueue(kMessage);
  job.expect_all_right(kPatience);
  // One way only: Soft-RoCE never completes what its own interface refuses to send.
  ASSERT_EQ(shell("ip link set v1 mtu 1500").status, 0);
  job.enqueue(Rank(0), Rank(1), kMessage);
  job.expect_all_right(kPatience);
  ASSERT_EQ(shell("ip link set v1 mtu 4200").status, 0);
}

// HOCCL_FUZZ_SEEDS=200 makes it long.
TEST(VerbsFaults, DrawnFromSeedsNeverHangAndNeverDeliverWrongBytes) {
  constexpr std::uint64_t kSchedules = 10;
  engine::for_each_seed(kSchedules, 0, 1, [](std::uint64_t seed) {
    const FaultSchedule schedule = draw_schedule(seed);
    const std::string wrong = play(schedule);
    return wrong.empty() ? wrong : wrong + "; " + describe(schedule);
  });
}

// Below: what is wrong from the beginning, seen by who runs the program.

constexpr auto kRun =
    "build/release/hoccl run --link verbs --copy host --topology h800-2x2 --ranks 2 --pattern "
    "sendrecv --ranks-as threads -b 64KiB -e 64KiB --chunk 64KiB --rounds 1 --iterations 1 "
    "--warmup 0";

void expect_refusal(const std::string& options, int status, const std::string& words,
                    const std::string& before = "") {
  const ShellResult result = shell(fmt::format("{} {} {}", before, kRun, options));
  EXPECT_EQ(result.status, status) << result.output;
  EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
}

TEST(VerbsFaults, DifferentMtusAgreeOnTheSmallerAndALargerOneIsRefused) {
  ASSERT_EQ(shell("ip link set v1 mtu 1500").status, 0);
  const ShellResult agreed = shell(fmt::format("{} --rdma-devices rxe0/rxe1 --check", kRun));
  EXPECT_EQ(agreed.status, 0) << agreed.output;
  expect_refusal("--rdma-devices rxe0/rxe1 --rdma-mtu 4096", 2, "has an active MTU of 1024");
  ASSERT_EQ(shell("ip link set v1 mtu 4200").status, 0);
}

TEST(VerbsFaults, AGidThatIsNotThereIsRefused) {
  expect_refusal("--rdma-devices rxe0/rxe1 --gid-index 7", 2, "gid index 7");
}

TEST(VerbsFaults, AGidWithoutARouteIsAnErrorThatSaysSo) {
  // Addresses behind a router that is not there.
  ASSERT_EQ(shell("ip addr add 10.99.1.1/32 dev v0 && ip addr add 10.99.2.1/32 dev v1 && "
                  "ip neigh replace 10.99.2.1 lladdr 02:00:00:00:00:ee dev v0 && "
                  "ip neigh replace 10.99.1.1 lladdr 02:00:00:00:00:ee dev v1")
                .status,
            0);
  expect_refusal("--rdma-devices rxe0/rxe1 --gid-index 2 --rdma-timeout 14 --rdma-retries 2", 1,
                 "no path is left");
  ASSERT_EQ(shell("ip addr del 10.99.1.1/32 dev v0 && ip addr del 10.99.2.1/32 dev v1").status, 0);
}

TEST(VerbsFaults, TooLittleLockableMemoryIsRefusedWithWhatToDo) {
  // Root may lock whatever it likes.
  expect_refusal("--rdma-devices rxe0/rxe1", 1, "ulimit -l unlimited",
                 "prlimit --memlock=65536 setpriv --reuid 65534 --regid 65534 --clear-groups");
}

}  // namespace
}  // namespace hoccl::hw
