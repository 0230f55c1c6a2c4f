#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/collective_system.h"
#include "engine/fabric.h"
#include "engine/pipeline/command.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan_cache.h"

namespace hoccl::engine {

/// Plans that a rank's communicators keep: a training loop repeats a few dozen distinct operations.
inline constexpr std::size_t kPlansPerRank = 64;

/// Shared by all communicators of a process. Two, because two threads plan: the caller's what is
/// known at the call, the proxy's an AllToAllv when its counts have come.
struct PlanCaches {
  /// `ranks`: of the job, in this process.
  explicit PlanCaches(const Topology& topology, int ranks = 1)
      : of_calls(topology, kPlansPerRank * static_cast<std::size_t>(ranks)),
        of_counts(topology, kPlansPerRank * static_cast<std::size_t>(ranks)) {}

  PlanCache of_calls;
  PlanCache of_counts;
};

/// Ranks of the job that run an operation, ascending; null: all.
using MemberList = std::shared_ptr<const std::vector<Rank>>;

/// The public API of one rank: enqueues operations on the application's streams. Every call returns
/// at once; the work happens in the rank's proxy. All ranks that take part in a collective call it
/// in the same order with equal arguments but for the buffers.
class Communicator : public CollectiveSystem {
 public:
  /// Over all ranks of the job. `id` names the communicator on all of them. Plans are compiled with
  /// `options`, which must be equal on all ranks.
  Communicator(Port& port, std::uint16_t id, const CompileOptions& options);

  /// Over the ranks of `group` (ascending; empty: all), which this one is among. Every rank number
  /// in its calls is then a position in the group. `flow_class`: of sends, receives and collectives
  /// that ask for none; background yields to foreground work on the GPU (paper §4). Throws
  /// ConfigError for a bad group.
  Communicator(Port& port, std::uint16_t id, const CompileOptions& options,
               std::shared_ptr<PlanCaches> caches, std::vector<Rank> group = {},
               FlowClass flow_class = FlowClass::kForeground);

  /// This rank's number in the communicator.
  [[nodiscard]] Rank rank() const;
  /// How many ranks it has.
  [[nodiscard]] int size() const;

  // All below throw ConfigError when the topology cannot carry the operation or a buffer is too
  // small for it. Sizes are counted as PatternRequest says, in place is meant as there.

  std::shared_ptr<Work> send(Region buffer, Rank target, StreamId stream);
  std::shared_ptr<Work> receive(Region buffer, Rank source, StreamId stream);

  std::shared_ptr<Work> all_gather(Bytes size, bool in_place, Region send, Region receive,
                                   StreamId stream);
  std::shared_ptr<Work> all_to_all(Bytes size, bool in_place, Region send, Region receive,
                                   StreamId stream);
  /// `row`: bytes from this rank to every rank; blocks lie in the order of the peers. How much
  /// comes is known when the operation begins, which fails with Cause::kSizeMismatch where it does
  /// not fit. Of skewed rows the order that suits them is that of default_order().
  std::shared_ptr<Work> all_to_all_v(std::vector<std::int64_t> row, bool in_place, Region send,
                                     Region receive, StreamId stream);
  /// `matrix`: bytes from every rank (row) to every rank, where all know it: no counts are sent.
  std::shared_ptr<Work> all_to_all_v(std::shared_ptr<const TrafficMatrix> matrix, bool in_place,
                                     Region send, Region receive, StreamId stream);
  std::shared_ptr<Work> broadcast(Bytes size, Rank root, bool in_place, Region send, Region receive,
                                  StreamId stream);
  std::shared_ptr<Work> gather(Bytes size, Rank root, bool in_place, Region send, Region receive,
                               StreamId stream);
  std::shared_ptr<Work> scatter(Bytes size, Rank root, bool in_place, Region send, Region receive,
                                StreamId stream);
  /// Any of them.
  std::shared_ptr<Work> collective(CollectiveRequest request, StreamId stream);

  /// Runs any plan: each rank in it calls it with the same plan, or its node's part of it, and its
  /// own buffers, of which the plan's offsets are parts. The plan's ranks are those of the job.
  /// `members`: those that call it.
  std::shared_ptr<Work> run(std::shared_ptr<const Plan> plan, Region send_buffer,
                            Region receive_buffer, StreamId stream, MemberList members = nullptr);

  /// Operations between begin and end start together and share one gate on `stream`.
  void group_begin(StreamId stream);
  std::shared_ptr<Work> group_end();

  /// Ends every unfinished operation of this communicator, here and at its peers.
  void abort();

  std::shared_ptr<Work> enqueue(std::span<const SendRecvRequest> group, StreamId stream) override;
  std::shared_ptr<Work> enqueue(const CollectiveRequest& request, StreamId stream) override;

 private:
  std::shared_ptr<Work> enqueue_operations(std::vector<Operation> operations, StreamId stream);
  Operation make_operation(const SendRecvRequest& request);
  [[nodiscard]] std::shared_ptr<const Plan> plan_of(const CollectiveRequest& request);
  [[nodiscard]] std::shared_ptr<const Counts> counts_of(const CollectiveRequest& request);
  [[nodiscard]] Operation next_collective(Region send_buffer, Region receive_buffer,
                                          MemberList members);
  std::shared_ptr<Work> submit(std::vector<Operation> operations, StreamId stream);

  Port& port_;
  std::uint16_t id_;
  CompileOptions options_;
  std::shared_ptr<PlanCaches> caches_;
  std::vector<Rank> group_;  ///< by rank of the communicator; empty: all of the job
  FlowClass flow_class_ = FlowClass::kForeground;
  std::map<StreamId, Sequence> sequences_;
  std::map<std::pair<Rank, Rank>, std::uint32_t> pair_numbers_;  // by (source, target)
  std::uint32_t next_collective_ = 0;
  std::vector<Operation> open_group_;
  StreamId open_group_stream_;
  bool grouping_ = false;
  std::int64_t next_work_ = 0;
};

}  // namespace hoccl::engine
