#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
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
  /// What the rank does for a message; bystanders run the plan of a multicast all the same.
  enum class Side : std::uint8_t { kSend, kReceive, kBystander };
  struct Part {
    std::size_t message = 0;
    Side side = Side::kBystander;
    engine::BufferHandle buffer;
    engine::Region region;  ///< within the buffer, with a margin on both sides
  };
  /// Messages that share a gate, hence a status; a multicast is alone in its group.
  struct Group {
    engine::StreamId stream;
    std::vector<Part> parts;
    std::shared_ptr<engine::Work> work;
  };

  RandomRank(const RandomJob& job, RankUnderTest& rank);
  void add(std::size_t message, Side side);
  std::shared_ptr<engine::Work> submit(const Group& group);
  static void enqueue(const std::shared_ptr<RandomRank>& self, std::size_t group);
  void enqueue_noise(engine::StreamId stream);
  void before(const Group& group);
  void after(const Group& group);
  void check_status(const Group& group, const engine::Status& status);
  void check_bytes(const Part& part);
  [[nodiscard]] const engine::FuzzMessage& message_of(const Part& part) const {
    return job_.messages[part.message];
  }
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
