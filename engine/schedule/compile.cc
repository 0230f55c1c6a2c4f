#include "engine/schedule/compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/schedule/stages.h"

namespace hoccl::engine {
namespace {

void require_options(const Pattern& pattern, const Topology& topology,
                     const CompileOptions& options) {
  if (pattern.rank_count != topology.rank_count()) {
    throw ConfigError(fmt::format("pattern {}: ranks = {}: expected {}, the ranks of topology '{}'",
                                  pattern.name, pattern.rank_count, topology.rank_count(),
                                  topology.name()));
  }
  if (options.chunk_size < Bytes(1) || options.chunk_size > kMaxChunkSize) {
    throw ConfigError(fmt::format("chunk = {}: expected 1B to {}", to_string(options.chunk_size),
                                  to_string(kMaxChunkSize)));
  }
  for (const Flow& flow : pattern.flows) {
    if (chunk_count(flow.size, options.chunk_size) > kMaxChunksPerTransfer) {
      throw ConfigError(fmt::format("chunk = {}: expected at most {} chunks in {}",
                                    to_string(options.chunk_size), kMaxChunksPerTransfer,
                                    to_string(flow.size)));
    }
  }
  if (options.rails < 0) {
    throw ConfigError(fmt::format("rails = {}: expected 1 or more", options.rails));
  }
}

}  // namespace

Plan compile(const Pattern& pattern, const Topology& topology, const CompileOptions& options) {
  require_options(pattern, topology, options);
  Plan plan;
  plan.pattern = pattern.name;
  plan.topology = topology.name();
  plan.rank_count = pattern.rank_count;
  plan.message_size = pattern.message_size;
  plan.chunk_size = options.chunk_size;
  switch (options.forwarding) {
    case Forwarding::kSymmetric:
      for (const Flow& flow : pattern.flows) {
        forward(flow, topology, options.chunk_size, std::max(options.rails, 1), plan.transfers);
      }
      break;
    case Forwarding::kBalanced:
      throw ConfigError("forwarding = balanced: not there yet");
  }
  assign_stages(plan.transfers, topology.nic_count());
  // A rank works through its transfers in plan order, so an earlier stage must come first.
  std::ranges::stable_sort(plan.transfers, {}, &Transfer::stage);
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) plan.transfers[i].id = FlowId(i);
  return plan;
}

}  // namespace hoccl::engine
