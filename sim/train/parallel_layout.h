#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/topology/topology.h"

namespace hoccl::sim {

/// How pipeline stages take turns at forward and backward.
enum class PipelineSchedule : std::uint8_t {
  /// One forward, one backward; a stage waits for each message before it goes on (Megatron-LM's
  /// schedule without interleaving, whose messages do not overlap with compute).
  k1f1b,
  /// Stages hold several model chunks, and more micro-batches are under way than 1F1B needs, so
  /// that messages overlap with compute (Megatron-LM's interleaved schedule, overlap_p2p_comm).
  kInterleaved,
};

/// "1f1b" or "interleaved"; ConfigError otherwise.
PipelineSchedule parse_pipeline_schedule(std::string_view text);
std::string_view to_string(PipelineSchedule schedule);

/// Which groups are neighbours; tensor-parallel ranks always are.
enum class RankOrder : std::uint8_t {
  kTensorDataPipeline,  ///< Megatron-LM's default: stages lie far apart
  kTensorPipelineData,  ///< its --use-tp-pp-dp-mapping: replicas lie far apart
};

/// "tp-dp-pp" or "tp-pp-dp"; ConfigError otherwise.
RankOrder parse_rank_order(std::string_view text);
std::string_view to_string(RankOrder order);

/// How a model is spread over the ranks of a job.
struct ParallelLayout {
  int tensor = 1;
  int pipeline = 1;
  int chunks = 1;  ///< model chunks per stage (virtual pipeline size)
  int data = 1;
  int expert = 1;        ///< ranks of a data-parallel group that share the experts of a layer
  int microbatch = 1;    ///< sequences
  int microbatches = 1;  ///< per data-parallel replica and step
  PipelineSchedule schedule = PipelineSchedule::kInterleaved;
  RankOrder order = RankOrder::kTensorDataPipeline;
  /// Interleaved: passes of a direction whose inputs are asked for ahead of time. A receive that
  /// waits is a kernel that holds SMs.
  int receive_ahead = 1;

  bool operator==(const ParallelLayout&) const = default;
  [[nodiscard]] int ranks() const { return tensor * pipeline * data; }
};

/// Where a rank stands.
struct Position {
  int tensor = 0;
  int data = 0;
  int stage = 0;
  bool operator==(const Position&) const = default;
};
Position position_of(const ParallelLayout& layout, engine::Rank rank);
engine::Rank rank_at(const ParallelLayout& layout, const Position& position);

// Groups that a rank is in, ascending.
std::vector<engine::Rank> tensor_group(const ParallelLayout& layout, engine::Rank rank);
std::vector<engine::Rank> data_group(const ParallelLayout& layout, engine::Rank rank);
std::vector<engine::Rank> expert_group(const ParallelLayout& layout, engine::Rank rank);
/// Of its data-parallel group, the ranks that hold the same experts.
std::vector<engine::Rank> expert_data_group(const ParallelLayout& layout, engine::Rank rank);

struct ModelShape;
/// Throws ConfigError (one line: what, value, what was expected) when the model cannot be laid out
/// so on the topology: sizes that do not divide, a tensor-parallel group across nodes, another
/// number of ranks, or an interleaved schedule whose micro-batches do not fill its stages.
void require_layout(const ParallelLayout& layout, const ModelShape& model,
                    const engine::Topology& topology);

}  // namespace hoccl::sim
