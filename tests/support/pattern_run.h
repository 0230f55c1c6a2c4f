#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/pattern/pattern.h"
#include "engine/schedule/plan.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {

/// A plan for all ranks, or one per node.
using Plans = std::vector<std::shared_ptr<const Plan>>;

/// Patterns, as some plan carries them, run by all ranks of a job on an IdealFabric: every byte of
/// every receive buffer is checked, also those that nobody should have written.
class PatternRun {
 public:
  PatternRun(const Topology& topology, IdealOptions fabric, const PipelineOptions& pipeline);

  IdealFabric& fabric() { return *fabric_; }
  Job& job() { return *job_; }

  /// Every rank enqueues the plan on that stream, after what is there. Returns its number.
  std::size_t enqueue(const Pattern& pattern, const Plans& plans, StreamId stream = StreamId(0));
  /// An operation of that communicator which `members` (ascending; empty: all) enqueue one by one.
  std::size_t add(const Pattern& pattern, const Plans& plans, std::uint16_t communicator,
                  const std::vector<Rank>& members = {});
  void enqueue(std::size_t operation, Rank member, StreamId stream);
  void run();

  /// Null while it runs or if the rank has not enqueued it.
  [[nodiscard]] std::optional<Status> status(std::size_t operation, Rank rank) const;
  [[nodiscard]] RunEnd run_end() const { return run_end_; }

  /// Empty when everything ended well and every byte is right; else what is wrong, one line.
  [[nodiscard]] std::string wrong();
  /// When the last stream went on.
  [[nodiscard]] Seconds end() const;
  /// When the last stream went on after this operation.
  [[nodiscard]] Seconds end(std::size_t operation) const { return operations_.at(operation).end; }

 private:
  struct Operation {
    Pattern pattern;
    Plans plans;
    std::uint16_t communicator = 0;
    MemberList members;                        ///< null: all
    std::vector<Region> sent;                  ///< by rank; size 0: none
    std::vector<Region> received;              ///< by rank; size 0: none
    std::vector<std::shared_ptr<Work>> works;  ///< by rank; null: not enqueued
    Seconds end{0.0};
  };

  void allocate(Operation& operation);
  [[nodiscard]] std::string wrong(const Operation& operation);

  std::unique_ptr<IdealFabric> fabric_;
  std::unique_ptr<Job> job_;
  std::vector<Operation> operations_;
  RunEnd run_end_ = RunEnd::kIdle;
};

}  // namespace hoccl::engine
