#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {

/// Which RDMA devices of the virtual machine play the NICs of the two nodes.
enum class Rails : std::uint8_t { kOne, kTwo };
std::string devices_of(Rails rails);

/// What ends a queue pair soon enough for a test: 0.27 s until a packet is sent again, and so
/// twice. (A retry count of 7 is endless under Soft-RoCE.)
VerbsOptions impatient_options(Rails rails);

/// Ranks spread over the two nodes of h800-2x2, on RDMA.
JobSettings fault_settings(int ranks, Rails rails, engine::Bytes chunk);

/// Messages between ranks of different nodes, and what became of them.
class FaultJob {
 public:
  FaultJob(int ranks, Rails rails, engine::Bytes chunk);

  HwJob& job() { return job_; }
  [[nodiscard]] int ranks() { return job_.ranks().count(); }

  /// From every rank to each on the other node, on streams of their own. Living ranks only.
  void enqueue(engine::Bytes size);
  void enqueue(engine::Rank source, engine::Rank target, engine::Bytes size);
  /// Forgets messages that have been judged.
  void forget() { messages_.clear(); }

  struct Verdict {
    int right = 0;      ///< ended ok at both ends, with the right bytes
    int failed = 0;     ///< ended with an error at one end or both
    std::string wrong;  ///< a message that hangs, has wrong bytes or an error that names nothing
  };
  /// Waits for the end of all messages.
  Verdict judge(engine::Seconds patience);
  /// All messages came.
  void expect_all_right(engine::Seconds patience);
  /// All messages failed, with an error at each living end that names a link or a peer.
  void expect_all_fail(engine::Seconds patience);

  void break_queue_pair(engine::Rank rank, std::uint64_t index);
  void kill(engine::Rank rank) { job_.ranks().kill(rank); }

 private:
  struct Message {
    engine::Rank source;
    engine::Rank target;
    std::uint64_t pattern = 0;
    engine::Region received;
    engine::WorkReference send;
    engine::WorkReference receive;
  };
  void enqueue(Message& message, engine::Bytes size);
  [[nodiscard]] std::string look_at(const Message& message, Verdict& verdict);

  HwJob job_;
  std::vector<Message> messages_;
  std::uint64_t next_pattern_ = 1;
};

/// Loss of packets that one interface sends, as long as it lives: `loss` as tc-netem has it, in
/// percent. One at a time per interface.
class PacketLoss {
 public:
  PacketLoss(std::string interface, double percent);
  ~PacketLoss();
  PacketLoss(const PacketLoss&) = delete;
  PacketLoss& operator=(const PacketLoss&) = delete;

 private:
  std::string interface_;
};

/// Runs a command of the shell; returns its exit status and all that it printed.
struct ShellResult {
  int status = -1;
  std::string output;
};
ShellResult shell(const std::string& command);

/// What a device has counted since it was made: "sent_pkts", "rcvd_pkts", ...
std::int64_t counter(const std::string& device, const std::string& name);

}  // namespace hoccl::hw
