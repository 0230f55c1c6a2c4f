#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/base/random.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/verifier.h"
#include "engine/topology/topology.h"
#include "tests/support/ideal_options.h"

namespace hoccl::engine {

/// An AllToAllv as its ranks know it: bytes between ranks of the job.
struct Counted {
  TrafficMatrix matrix;
  bool in_place = false;
};

/// A pattern to compile for a topology and to run on it, drawn from a seed.
struct ScheduleCase {
  Topology topology;
  Pattern pattern;
  std::optional<Counted> counted = {};  ///< of an AllToAllv
  CompileOptions compile = {};
  IdealOptions fabric = {};
  PipelineOptions pipeline = {};
  /// Every rank runs its node's part of the plan, as on hardware; else the whole.
  bool node_plans = false;

  [[nodiscard]] SlotSupply slots() const {
    return {fabric.slot_size, fabric.send_slots, fabric.receive_slots};
  }
};

/// A pattern of `chunk`-sized pieces for these ranks, with what it is counted by: a known one, or
/// flows of nobody's design, to several ranks and to the sender itself too.
struct DrawnPattern {
  Pattern pattern;
  std::optional<Counted> counted = {};
};
DrawnPattern draw_pattern(Random& random, int rank_count, Bytes chunk);

/// Any options but the chunk; rarely ones that the topology may not be able to carry out.
CompileOptions draw_compile_options(Random& random, Bytes chunk, const Topology& topology);
PipelineOptions draw_pipeline_options(Random& random);
/// An adversary with slots for such chunks.
IdealOptions draw_fabric_options(Random& random, Bytes chunk);
Bytes draw_chunk(Random& random);

ScheduleCase draw_schedule_case(std::uint64_t seed);
/// One line for a person.
std::string describe(const ScheduleCase& schedule_case);

}  // namespace hoccl::engine
