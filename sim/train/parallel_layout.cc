#include "sim/train/parallel_layout.h"

#include <fmt/format.h>

#include <string>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "sim/train/model_shape.h"

namespace hoccl::sim {

using engine::ConfigError;
using engine::NodeId;
using engine::Rank;

namespace {

struct NamedCount {
  std::string_view key;
  int value = 0;
};

void require_positive(const ParallelLayout& layout, const ModelShape& model) {
  for (const NamedCount& each :
       {NamedCount{"model.layers", model.layers}, NamedCount{"model.hidden", model.hidden},
        NamedCount{"model.heads", model.heads},
        NamedCount{"model.feed_forward", model.feed_forward},
        NamedCount{"model.sequence", model.sequence},
        NamedCount{"model.vocabulary", model.vocabulary},
        NamedCount{"model.experts", model.experts}, NamedCount{"layout.tensor", layout.tensor},
        NamedCount{"layout.pipeline", layout.pipeline}, NamedCount{"layout.chunks", layout.chunks},
        NamedCount{"layout.data", layout.data}, NamedCount{"layout.expert", layout.expert},
        NamedCount{"layout.microbatch", layout.microbatch},
        NamedCount{"layout.microbatches", layout.microbatches}}) {
    if (each.value < 1) {
      throw ConfigError(fmt::format("{} = {}: expected at least 1", each.key, each.value));
    }
  }
}

/// `whole` is said with its unit after it: "32 attention heads".
void require_divisor(std::string_view key, std::int64_t value, std::int64_t whole,
                     std::string_view unit) {
  if (whole % value == 0) return;
  throw ConfigError(fmt::format("{} = {}: expected a divisor of {} {}", key, value, whole, unit));
}

void require_equal_parts(const ParallelLayout& layout, const ModelShape& model) {
  require_divisor("model.heads", model.heads, model.hidden, "values of a token (model.hidden)");
  require_divisor("layout.tensor", layout.tensor, model.heads, "attention heads");
  require_divisor("layout.tensor", layout.tensor, model.hidden, "values of a token (model.hidden)");
  require_divisor("layout.tensor", layout.tensor, model.feed_forward,
                  "inner values of an MLP (model.feed_forward)");
  require_divisor("layout.tensor", layout.tensor, model.vocabulary, "words of the vocabulary");
  // Sequence parallelism: outside attention and MLPs, a tensor group shares the tokens.
  require_divisor("layout.tensor", layout.tensor, std::int64_t{model.sequence} * layout.microbatch,
                  "tokens of a micro-batch");
  require_divisor("layout.pipeline x layout.chunks", std::int64_t{layout.pipeline} * layout.chunks,
                  model.layers, "layers");
  require_divisor("layout.expert", layout.expert, model.experts,
                  model.experts == 1 ? "expert: the model is dense" : "experts");
  require_divisor("layout.expert", layout.expert, layout.data, "data-parallel ranks");
}

void require_filled_stages(const ParallelLayout& layout) {
  if (layout.chunks == 1) return;
  if (layout.schedule != PipelineSchedule::kInterleaved) {
    throw ConfigError(fmt::format("layout.chunks = {}: expected 1 with layout.schedule = {}",
                                  layout.chunks, to_string(layout.schedule)));
  }
  if (layout.pipeline == 1) {
    throw ConfigError(
        fmt::format("layout.chunks = {}: expected 1 with a single stage", layout.chunks));
  }
  if (layout.microbatches % layout.pipeline != 0) {
    throw ConfigError(fmt::format(
        "layout.microbatches = {}: expected a multiple of {} stages, which hold {} chunks each",
        layout.microbatches, layout.pipeline, layout.chunks));
  }
}

void require_place(const ParallelLayout& layout, const engine::Topology& topology) {
  const std::int64_t replica = std::int64_t{layout.tensor} * layout.pipeline;
  // Divided and not multiplied: the product of three counts may not fit.
  if (topology.rank_count() % replica != 0 || topology.rank_count() / replica != layout.data) {
    throw ConfigError(fmt::format(
        "layout.tensor x layout.pipeline x layout.data = {} x {} x {}: expected the {} "
        "ranks of topology {}",
        layout.tensor, layout.pipeline, layout.data, topology.rank_count(), topology.name()));
  }
  for (int first = 0; first < topology.rank_count(); first += layout.tensor) {
    const NodeId node = topology.node_of(Rank(first));
    for (const Rank rank : tensor_group(layout, Rank(first))) {
      if (topology.node_of(rank) == node) continue;
      throw ConfigError(fmt::format(
          "layout.tensor = {}: expected groups within one node; ranks {} and {} are on nodes {} "
          "and {}",
          layout.tensor, first, rank, node, topology.node_of(rank)));
    }
  }
}

}  // namespace

PipelineSchedule parse_pipeline_schedule(std::string_view text) {
  for (const PipelineSchedule each : {PipelineSchedule::k1f1b, PipelineSchedule::kInterleaved}) {
    if (to_string(each) == text) return each;
  }
  throw ConfigError(fmt::format("schedule '{}': expected {} or {}", text,
                                to_string(PipelineSchedule::k1f1b),
                                to_string(PipelineSchedule::kInterleaved)));
}

std::string_view to_string(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::k1f1b:
      return "1f1b";
    case PipelineSchedule::kInterleaved:
      return "interleaved";
  }
  return "?";
}

RankOrder parse_rank_order(std::string_view text) {
  for (const RankOrder each : {RankOrder::kTensorDataPipeline, RankOrder::kTensorPipelineData}) {
    if (to_string(each) == text) return each;
  }
  throw ConfigError(fmt::format("order '{}': expected {} or {}", text,
                                to_string(RankOrder::kTensorDataPipeline),
                                to_string(RankOrder::kTensorPipelineData)));
}

std::string_view to_string(RankOrder order) {
  switch (order) {
    case RankOrder::kTensorDataPipeline:
      return "tp-dp-pp";
    case RankOrder::kTensorPipelineData:
      return "tp-pp-dp";
  }
  return "?";
}

Position position_of(const ParallelLayout& layout, Rank rank) {
  HOCCL_CHECK(rank.value() >= 0 && rank.value() < layout.ranks(), "rank {} of {}", rank,
              layout.ranks());
  const int group = rank.value() / layout.tensor;
  const bool data_first = layout.order == RankOrder::kTensorDataPipeline;
  return {.tensor = rank.value() % layout.tensor,
          .data = data_first ? group % layout.data : group / layout.pipeline,
          .stage = data_first ? group / layout.data : group % layout.pipeline};
}

Rank rank_at(const ParallelLayout& layout, const Position& position) {
  const int group = layout.order == RankOrder::kTensorDataPipeline
                        ? position.data + layout.data * position.stage
                        : position.stage + layout.pipeline * position.data;
  return Rank(position.tensor + layout.tensor * group);
}

std::vector<Rank> tensor_group(const ParallelLayout& layout, Rank rank) {
  Position position = position_of(layout, rank);
  std::vector<Rank> group;
  for (position.tensor = 0; position.tensor < layout.tensor; ++position.tensor) {
    group.push_back(rank_at(layout, position));
  }
  return group;
}

std::vector<Rank> data_group(const ParallelLayout& layout, Rank rank) {
  Position position = position_of(layout, rank);
  std::vector<Rank> group;
  for (position.data = 0; position.data < layout.data; ++position.data) {
    group.push_back(rank_at(layout, position));
  }
  return group;
}

std::vector<Rank> expert_group(const ParallelLayout& layout, Rank rank) {
  Position position = position_of(layout, rank);
  const int first = position.data - position.data % layout.expert;
  std::vector<Rank> group;
  for (position.data = first; position.data < first + layout.expert; ++position.data) {
    group.push_back(rank_at(layout, position));
  }
  return group;
}

std::vector<Rank> expert_data_group(const ParallelLayout& layout, Rank rank) {
  Position position = position_of(layout, rank);
  std::vector<Rank> group;
  for (int data = position.data % layout.expert; data < layout.data; data += layout.expert) {
    position.data = data;
    group.push_back(rank_at(layout, position));
  }
  return group;
}

void require_layout(const ParallelLayout& layout, const ModelShape& model,
                    const engine::Topology& topology) {
  require_positive(layout, model);
  require_equal_parts(layout, model);
  require_filled_stages(layout);
  require_place(layout, topology);
}

}  // namespace hoccl::sim
