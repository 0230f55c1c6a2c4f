#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/random.h"
#include "tests/fuzz/fuzz_case.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {

/// A FuzzCase being run. Around every group its streams write the send buffers just before the
/// group may read them, and check the receive buffers and scribble over all of them just after: a
/// transfer that starts early or ends late is seen.
class FuzzRun {
 public:
  explicit FuzzRun(const FuzzCase& fuzz_case);

  IdealFabric& fabric() { return fabric_; }
  Job& job() { return job_; }
  /// Bytes that do not arrive as sent are expected of failed operations only.
  RunEnd run() { return fabric_.run(job_.proxies()); }

  /// What is wrong after a run in which nothing may fail; empty when all is well.
  [[nodiscard]] std::string check_all_ok(RunEnd end) const;

  /// What a rank does for a message; a multicast has bystanders.
  enum class Side : std::uint8_t { kSend, kReceive, kNone };
  struct Part {
    std::size_t message = 0;
    Side side = Side::kNone;
    Region region;
  };
  /// Messages of one rank that share a gate, hence a status.
  struct Group {
    Rank rank;
    StreamId stream;
    std::vector<Part> parts;
    std::shared_ptr<Work> work;
  };
  [[nodiscard]] const std::vector<std::shared_ptr<Group>>& groups() const { return groups_; }
  [[nodiscard]] OperationId operation_of(std::size_t message) const {
    return operations_.at(message);
  }
  /// What the streams found wrong.
  [[nodiscard]] const std::string& found() const { return found_; }

 private:
  using StreamKey = std::pair<Rank, StreamId>;

  void number_messages();
  void enqueue_messages();
  void add_multicast(std::size_t index);
  void add(StreamKey key, std::size_t message, Side side, bool joins);
  void flush(Rank rank);
  void enqueue_noise(StreamKey key);
  void before(const Group& group);
  void after(const Group& group);
  void complain(std::string what);

  const FuzzCase& case_;
  Random random_;
  IdealFabric fabric_;
  Job job_;
  std::map<Rank, std::shared_ptr<Group>> open_;
  std::map<StreamKey, std::vector<BufferHandle>> buffers_;
  std::map<Rank, std::vector<EventId>> events_;
  std::vector<std::shared_ptr<Group>> groups_;
  std::vector<OperationId> operations_;
  std::string found_;
};

}  // namespace hoccl::engine
