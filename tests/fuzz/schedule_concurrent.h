#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pattern/pattern.h"
#include "engine/pipeline/options.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"
#include "tests/support/ideal_options.h"

namespace hoccl::engine {

/// Several communicators over the same GPUs, all of the job or some of its ranks, whose operations
/// run at once on several streams, with very few slots. Every rank enqueues the operations of a
/// communicator in their order, and those of a stream in the order of their numbers, but otherwise
/// as it likes: so the unfinished operation with the lowest number can always proceed, and whatever
/// hangs is the pipeline's fault.
struct ConcurrentCase {
  struct Operation {
    std::uint16_t communicator = 0;
    std::vector<Rank> members;  ///< ascending
    Pattern pattern;
    std::shared_ptr<const Plan> plan;
  };
  struct Call {
    std::size_t operation = 0;
    StreamId stream;
    Seconds delay_before{0.0};
  };

  Topology topology;
  IdealOptions fabric = {};
  PipelineOptions pipeline = {};
  std::vector<Operation> operations = {};
  std::vector<std::vector<Call>> calls = {};  ///< by rank, in order
};

ConcurrentCase draw_concurrent_case(std::uint64_t seed);
/// What is wrong after it has run; empty when all is well.
std::string check_run(const ConcurrentCase& concurrent_case);
/// One line for a person.
std::string describe(const ConcurrentCase& concurrent_case);

}  // namespace hoccl::engine
