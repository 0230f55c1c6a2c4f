#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {

/// What a rank does for the message under test.
enum class Role : std::uint8_t { kSource, kTarget, kSendRelay, kReceiveRelay };
std::string_view to_string(Role role);
/// Who sees this happen.
Role observer_of(SeamEvent event);

/// Eight ranks on two nodes, and a message from rank 0 that something happens to: to rank 5 over
/// the relays 1 and 4, or directly to rank 1. Another message, from rank 2 to rank 7 on another
/// communicator, has nothing to do with any of them.
class BrokenJob {
 public:
  static constexpr int kCommunicator = 0;
  static constexpr int kOther = 1;

  /// The trap springs when the message's observer sees `event` for the count-th time.
  BrokenJob(Living living, SeamEvent event);

  [[nodiscard]] engine::Rank rank_of(Role role) const;
  HwJob& job() { return job_; }

  /// Both messages, on all four ends.
  void enqueue_messages();
  /// Holds of the rank under test: a status within 2 s after what happened, the right bytes if it
  /// is ok, and otherwise what `is_expected` accepts. The other message is ok, and so is one more
  /// of the other communicator. Nothing is left in any living proxy. `lost`: who died, if anybody.
  void expect_survivors_end(engine::Rank lost,
                            const std::function<bool(const engine::Status&)>& is_expected);

 private:
  struct Message {
    engine::Rank source;
    engine::Rank target;
    int communicator = 0;
    std::uint64_t pattern = 0;
    engine::Region received;
    engine::WorkReference send;
    engine::WorkReference receive;
  };
  void enqueue(Message& message);
  void expect_ok(const Message& message);

  const bool direct_;
  HwJob job_;
  Message broken_;
  Message other_;
};

}  // namespace hoccl::hw
