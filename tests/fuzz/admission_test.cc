// Operations that two streams cross: harmless with admission, whatever the number of slots; a
// deadlock without (design: a target is ready only when its stream has come that far).

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "tests/support/byte_pattern.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {
namespace {

using namespace literals;

const Rank kSource(0);
const Rank kTarget(4);
constexpr Bytes kChunk = 1_KiB;
/// Far more chunks than there are slots.
constexpr Bytes kMessage = 32_KiB;

struct Crossing {
  Timing timing = Timing::kClosedForm;
  std::uint64_t seed = 1;
  int slots = 1;
  bool admission = true;
};

/// Rank 0 sends A on stream 1 and then B on stream 2, rank 4 receives B and then A on one stream.
/// They are messages of two communicators, because those of one are matched in order.
class CrossedRun {
 public:
  explicit CrossedRun(const Crossing& crossing)
      : fabric_(resolve_topology("h800-2x4"), options(crossing)),
        job_(fabric_, fabric_.topology().rank_count(), pipeline(crossing), compile()) {
    for (const Rank rank : {kSource, kTarget}) {
      second_.push_back(
          std::make_unique<Communicator>(fabric_.port(rank), std::uint16_t{1}, compile()));
    }
    send(job_.communicator(kSource), StreamId(1), 'A');
    // B comes when A has taken all it can get.
    fabric_.enqueue_delay(kSource, StreamId(2), Seconds(10e-3));
    send(*second_.front(), StreamId(2), 'B');
    receive(*second_.back(), 'B');
    receive(job_.communicator(kTarget), 'A');
    end_ = fabric_.run(job_.proxies());
  }

  [[nodiscard]] RunEnd end() const { return end_; }
  [[nodiscard]] bool quiescent() const { return job_.quiescent(); }
  [[nodiscard]] int count(Cause cause) const {
    int found = 0;
    for (const auto& work : works_) {
      const auto status = work->status();
      if (status && status->cause == cause) ++found;
    }
    return found;
  }
  [[nodiscard]] bool bytes_are_right() {
    for (const auto& [buffer, message] : received_) {
      if (first_difference(fabric_.bytes(buffer), message)) return false;
    }
    return true;
  }

 private:
  static IdealOptions options(const Crossing& crossing) {
    IdealOptions result;
    result.timing = crossing.timing;
    result.seed = crossing.seed;
    result.slot_size = kChunk;
    result.send_slots = crossing.slots;
    result.receive_slots = crossing.slots;
    return result;
  }
  static PipelineOptions pipeline(const Crossing& crossing) {
    PipelineOptions result;
    result.admission = crossing.admission;
    result.timeout = Seconds(1.0);
    return result;
  }
  static CompileOptions compile() {
    CompileOptions result;
    result.chunk_size = kChunk;
    return result;
  }

  void send(Communicator& communicator, StreamId stream, std::uint64_t message) {
    const BufferHandle buffer = fabric_.allocate(kSource, kMessage);
    fill_pattern(fabric_.bytes(buffer), message);
    works_.push_back(communicator.send({buffer, Bytes(0), kMessage}, kTarget, stream));
  }
  void receive(Communicator& communicator, std::uint64_t message) {
    const BufferHandle buffer = fabric_.allocate(kTarget, kMessage);
    works_.push_back(communicator.receive({buffer, Bytes(0), kMessage}, kSource, StreamId(0)));
    received_.emplace_back(buffer, message);
  }

  IdealFabric fabric_;
  Job job_;
  std::vector<std::unique_ptr<Communicator>> second_;
  std::vector<std::shared_ptr<Work>> works_;
  std::vector<std::pair<BufferHandle, std::uint64_t>> received_;
  RunEnd end_ = RunEnd::kIdle;
};

class Admission : public testing::TestWithParam<int> {};

TEST_P(Admission, LetsCrossedOperationsEnd) {
  for (std::uint64_t seed = 0; seed <= 20; ++seed) {
    Crossing crossing;
    crossing.slots = GetParam();
    crossing.seed = seed;
    crossing.timing = seed == 0 ? Timing::kClosedForm : Timing::kAdversarial;
    CrossedRun run(crossing);
    EXPECT_EQ(run.end(), RunEnd::kIdle) << seed;
    EXPECT_EQ(run.count(Cause::kNone), 4) << seed;
    EXPECT_TRUE(run.bytes_are_right()) << seed;
    EXPECT_TRUE(run.quiescent()) << seed;
  }
}

TEST_P(Admission, IsWhatPreventsTheirDeadlock) {
  Crossing crossing;
  crossing.slots = GetParam();
  crossing.admission = false;
  const CrossedRun run(crossing);
  // The timeout breaks the deadlock; without one nothing would ever end.
  EXPECT_EQ(run.end(), RunEnd::kIdle);
  EXPECT_GE(run.count(Cause::kTimeout), 1);
}

INSTANTIATE_TEST_SUITE_P(Slots, Admission, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace hoccl::engine
