#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/base/random.h"
#include "tests/hw/scenarios/random_job.h"

namespace hoccl::hw {

/// One rank's part of a random job, run where the rank lives. Around every group its streams write
/// the send buffers just before the group may read them, and check the receive buffers and scribble
/// over all of them just after: a transfer that starts early or ends late is seen.
class RandomRank {
 public:
  /// Enqueues everything, waits until it has ended (at most for `patience`) and says what is
  /// wrong; empty when all is well.
  static std::string play(const RandomJob& job, RankUnderTest& rank, engine::Seconds patience);

 private:
  struct Part {
    std::size_t message = 0;
    bool sends = false;
    engine::BufferHandle buffer;
    engine::Region region;  ///< within the buffer, with a margin on both sides
  };
  /// Messages that share a gate, hence a status.
  struct Group {
    engine::StreamId stream;
    std::vector<Part> parts;
    std::shared_ptr<engine::Work> work;
  };

  RandomRank(const RandomJob& job, RankUnderTest& rank);
  void add(std::size_t message, bool sends);
  static void enqueue(const std::shared_ptr<RandomRank>& self, std::size_t group);
  void enqueue_noise(engine::StreamId stream);
  void before(const Group& group);
  void after(const Group& group);
  void check_status(const Group& group, const engine::Status& status);
  void check_bytes(const Part& part);
  [[nodiscard]] std::span<std::byte> all_bytes(const Part& part);
  void complain(std::string what);
  [[nodiscard]] std::string found();

  const RandomJob& job_;
  RankUnderTest& rank_;
  engine::Random random_;
  std::vector<Group> groups_;
  std::mutex mutex_;
  std::string found_;  ///< under mutex_; streams complain from threads of their own
};

}  // namespace hoccl::hw
