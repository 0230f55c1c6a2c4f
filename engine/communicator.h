#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/collective_system.h"
#include "engine/fabric.h"
#include "engine/pipeline/command.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan_cache.h"

namespace hoccl::engine {

/// The public API of one rank: enqueues operations on the application's streams. Every call returns
/// at once; the work happens in the rank's proxy.
class Communicator : public CollectiveSystem {
 public:
  /// `id` names the communicator on all its ranks. Plans are compiled with `options`, which must be
  /// equal on all ranks.
  Communicator(Port& port, std::uint16_t id, const CompileOptions& options);

  [[nodiscard]] Rank rank() const { return port_.rank(); }

  /// Throws ConfigError when the topology cannot carry the message.
  std::shared_ptr<Work> send(Region buffer, Rank target, StreamId stream);
  std::shared_ptr<Work> receive(Region buffer, Rank source, StreamId stream);

  /// Runs any plan over all ranks: each calls it with the same plan and its own buffers, of which
  /// the plan's offsets are parts. Throws ConfigError when a buffer is too small for the plan.
  std::shared_ptr<Work> run(std::shared_ptr<const Plan> plan, Region send_buffer,
                            Region receive_buffer, StreamId stream);

  /// Operations between begin and end start together and share one gate on `stream`.
  void group_begin(StreamId stream);
  std::shared_ptr<Work> group_end();

  /// Ends every unfinished operation of this communicator, here and at its peers.
  void abort();

  std::shared_ptr<Work> enqueue(std::span<const SendRecvRequest> group, StreamId stream) override;

 private:
  std::shared_ptr<Work> enqueue_operations(std::vector<Operation> operations, StreamId stream);
  Operation make_operation(const SendRecvRequest& request);
  std::shared_ptr<Work> submit(std::vector<Operation> operations, StreamId stream);

  Port& port_;
  std::uint16_t id_;
  CompileOptions options_;
  PlanCache cache_;
  std::map<StreamId, Sequence> sequences_;
  std::map<std::pair<Rank, Rank>, std::uint32_t> pair_numbers_;  // by (source, target)
  std::uint32_t next_collective_ = 0;
  std::vector<Operation> group_;
  StreamId group_stream_;
  bool grouping_ = false;
  std::int64_t next_work_ = 0;
};

}  // namespace hoccl::engine
