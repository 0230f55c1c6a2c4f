#include "experiments/contention/pipeline_load.h"

#include <fmt/format.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/check.h"
#include "experiments/contention/pipeline_rank.h"
#include "hw/bootstrap/thread_ranks.h"

namespace hoccl::contention {
namespace {

using engine::Bytes;

// The first message exports and imports the buffers.
constexpr std::int64_t kWarmUp = 3;
// Messages on the streams beside the one that runs: the next one never waits for a thread to wake,
// and what is left to do after the last round takes a few milliseconds.
constexpr std::size_t kAhead = 2;
// Short against a message's 1.3 ms.
constexpr std::chrono::microseconds kPollInterval(50);

class PipelineLoad : public Load {
 public:
  explicit PipelineLoad(std::span<const std::byte> message)
      : message_(message),
        launches_(hw::make_local_launches(kPipelineRanks)),
        meeting_(kPipelineRanks, Decision{this}) {
    for (const hw::Launch& launch : launches_) {
      threads_.emplace_back([this, &launch] { run(launch); });
    }
  }

  ~PipelineLoad() override {
    {
      const std::scoped_lock lock(mutex_);
      quitting_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Returns when both ranks have nothing to do.
  void await_pause() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return paused_ == kPipelineRanks || failed_; });
    require_no_failure();
  }

  void start() override {
    const std::int64_t before = received_;
    {
      const std::scoped_lock lock(mutex_);
      paused_ = 0;
      on_ = true;
    }
    changed_.notify_all();
    while (received_ == before) {
      {
        const std::scoped_lock lock(mutex_);
        require_no_failure();
      }
      std::this_thread::sleep_for(kPollInterval);
    }
  }

  [[nodiscard]] Moved moved() const override {
    return {.to_host = Bytes(sent_bytes_), .to_device = Bytes(received_bytes_), .by_sms = {}};
  }

  void stop() override {
    {
      const std::scoped_lock lock(mutex_);
      on_ = false;
    }
    await_pause();
  }

 private:
  enum class Step : std::uint8_t { kMessage, kPause, kEnd };
  /// Made once per meeting, so that both ranks enqueue the same number of messages.
  struct Decision {
    PipelineLoad* load;
    void operator()() const noexcept { load->decide(); }
  };

  void decide() noexcept {
    if (quitting_ || failed_) {
      step_ = Step::kEnd;
    } else {
      step_ = on_ ? Step::kMessage : Step::kPause;
    }
  }

  void run(const hw::Launch& launch) {
    const auto attempt = [&](const auto& what) {
      try {
        what();
      } catch (const std::exception& error) {
        fail(fmt::format("rank {}: {}", launch.rank, error.what()));
      }
    };
    // Lives on after a failure: its end would be another one for the other rank, told first.
    std::optional<PipelineRank> rank;
    attempt([&] {
      rank.emplace(launch);
      warm_up(*rank);
      serve(*rank);
    });
    meeting_.arrive_and_drop();  // the other one must not wait for this one
    attempt([&] {
      if (rank) rank->leave();
    });
  }

  void warm_up(PipelineRank& rank) {
    if (rank.sends()) rank.fill(message_);
    for (std::int64_t i = 0; i < kWarmUp; ++i) rank.enqueue();
    finish(rank, 0);
    if (failed_) return;
    // The rates are counted by copies, and rest on this.
    if (rank.copied() != kPipelineMessage * kWarmUp) {
      throw std::runtime_error(fmt::format("{} bytes copied for {} messages of {}",
                                           rank.copied().count(), kWarmUp,
                                           kPipelineMessage.count()));
    }
    if (!rank.sends() && !rank.holds(message_)) {
      throw std::runtime_error("other bytes than were sent");
    }
  }

  void serve(PipelineRank& rank) {
    pause(rank);
    while (true) {
      meeting_.arrive_and_wait();
      switch (step_) {
        case Step::kMessage:
          rank.enqueue();
          finish(rank, kAhead);
          break;
        case Step::kPause:
          finish(rank, 0);
          pause(rank);
          break;
        case Step::kEnd:
          finish(rank, 0);
          return;
      }
    }
  }

  /// The sender waits for the next order, the receiver at the next meeting.
  void pause(const PipelineRank& rank) {
    std::unique_lock lock(mutex_);
    paused_ += 1;
    changed_.notify_all();
    if (!rank.sends()) return;
    changed_.wait(lock, [this] { return on_ || quitting_ || failed_; });
  }

  /// Returns when at most `ahead` messages are under way. One that fails ends those behind it.
  void finish(PipelineRank& rank, std::size_t ahead) {
    bool aborted = false;
    while (rank.under_way() > ahead) {
      (rank.sends() ? sent_bytes_ : received_bytes_) = rank.copied().count();
      if (failed_ && !aborted) {
        rank.abort();
        aborted = true;
      }
      const auto status = rank.oldest();
      if (!status) {
        std::this_thread::sleep_for(kPollInterval);
        continue;
      }
      rank.forget_oldest();
      if (!status->ok()) {
        fail(to_string(*status));
      } else if (!rank.sends()) {
        received_ += 1;
      }
    }
  }

  /// What comes later follows from the first one.
  void fail(const std::string& failure) {
    {
      const std::scoped_lock lock(mutex_);
      if (failed_) return;
      failure_ = failure;
      failed_ = true;
    }
    changed_.notify_all();
  }

  /// Under the lock of the caller.
  void require_no_failure() const {
    if (failed_) throw std::runtime_error("pipeline: " + failure_);
  }

  const std::span<const std::byte> message_;
  const std::vector<hw::Launch> launches_;
  std::barrier<Decision> meeting_;  ///< of the ranks, before each step
  Step step_ = Step::kPause;        ///< changes only while both are at the meeting

  // Flags change under the lock, for those who wait; a meeting only looks at them.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> on_ = false;
  std::atomic<bool> quitting_ = false;
  std::atomic<bool> failed_ = false;
  std::string failure_;
  int paused_ = 0;  ///< ranks, since the last start

  std::atomic<std::int64_t> received_ = 0;  ///< messages
  std::atomic<std::int64_t> sent_bytes_ = 0;
  std::atomic<std::int64_t> received_bytes_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Load> pipeline_load(std::span<const std::byte> source) {
  const auto size = static_cast<std::size_t>(kPipelineMessage.count());
  HOCCL_CHECK(source.size() >= size, "{} bytes to send, of {}", size, source.size());
  auto load = std::make_unique<PipelineLoad>(source.first(size));
  load->await_pause();
  return load;
}

}  // namespace hoccl::contention
