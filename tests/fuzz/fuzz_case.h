#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"
#include "tests/support/ideal_options.h"

namespace hoccl::engine {

/// One message. Its number is its index in FuzzCase::messages.
struct FuzzMessage {
  Rank source;
  Rank target;
  /// If any: a multicast, a plan that all ranks run, each on the source's stream.
  std::vector<Rank> more_targets = {};
  StreamId source_stream;
  StreamId target_stream;
  Bytes size;
  /// Share the gate of the message before on that stream.
  bool joins_at_source = false;
  bool joins_at_target = false;
};

/// A job drawn from a seed. Every rank enqueues its messages in the order of their numbers, each on
/// the stream it names, so that the lowest unfinished message can always proceed: whatever hangs is
/// the pipeline's fault.
struct FuzzCase {
  Topology topology;
  IdealOptions fabric;
  PipelineOptions pipeline;
  CompileOptions compile;
  int streams = 1;
  /// Groups of a stream use the same buffers, as a training step does. Off where a dead rank may
  /// write into a buffer for ever, because nobody learns that it has died.
  bool reuse_buffers = true;
  std::vector<FuzzMessage> messages;
};

FuzzCase draw_case(std::uint64_t seed);
Plan plan_of(const FuzzMessage& message, const FuzzCase& fuzz_case);
/// One line for a person.
std::string describe(const FuzzCase& fuzz_case);

}  // namespace hoccl::engine
