#pragma once

#include "sim/train/training_setup.h"

namespace hoccl::sim {

/// Calls `visit(group, name, value)` for every word, switch and time and
/// `visit(group, name, value, low, high)` for every plain number, in the order of the files: the
/// one list that reader, printer and `set_training_value` share. The highest counts are beyond any
/// use, and keep ranks within 32 bits and parameters within 64.
template <class Visitor>
void visit_training_setup(TrainingSetup& setup, Visitor&& visit) {
  ModelShape& model = setup.model;
  visit("model", "layers", model.layers, 1, 1000);
  visit("model", "hidden", model.hidden, 1, 100000);
  visit("model", "heads", model.heads, 1, 10000);
  visit("model", "feed_forward", model.feed_forward, 1, 1000000);
  visit("model", "sequence", model.sequence, 1, 10000000);
  visit("model", "vocabulary", model.vocabulary, 1, 10000000);
  visit("model", "experts", model.experts, 1, 1000);

  ParallelLayout& layout = setup.layout;
  visit("layout", "tensor", layout.tensor, 1, 128);
  visit("layout", "pipeline", layout.pipeline, 1, 1024);
  visit("layout", "chunks", layout.chunks, 1, 1024);
  visit("layout", "data", layout.data, 1, 8192);
  visit("layout", "expert", layout.expert, 1, 8192);
  visit("layout", "microbatch", layout.microbatch, 1, 1024);
  visit("layout", "microbatches", layout.microbatches, 1, 100000);
  visit("layout", "schedule", layout.schedule);
  visit("layout", "order", layout.order);
  visit("layout", "receive_ahead", layout.receive_ahead, 1, 1000);

  visit("data_parallel", "buckets_per_chunk", setup.buckets_per_chunk, 1, 1000);
  visit("data_parallel", "parameter_bytes", setup.parameter_bytes, 1, 8);
  visit("data_parallel", "gradient_bytes", setup.gradient_bytes, 1, 8);
  visit("data_parallel", "overlap_gather", setup.overlap_gather);
  visit("data_parallel", "overlap_reduce", setup.overlap_reduce);

  // A channel of NCCL holds one SM; it has 64 at most (MAXCHANNELS).
  visit("sms", "tensor", setup.sms.tensor, 1, 64);
  visit("sms", "pipeline", setup.sms.pipeline, 1, 64);
  visit("sms", "data", setup.sms.data, 1, 64);
  visit("sms", "expert", setup.sms.expert, 1, 64);

  // At a speed of 0 a step would never end; below 0.1% is a slip of the pen.
  visit("speed", "forward", setup.speed.forward, 0.001, 1.0);
  visit("speed", "backward", setup.speed.backward, 0.001, 1.0);
  visit("speed", "step_overhead", setup.speed.step_overhead);
}

}  // namespace hoccl::sim
