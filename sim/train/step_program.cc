#include "sim/train/step_program.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "sim/train/layer_kernels.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::Rank;

namespace {

/// A part of a model chunk whose parameters are gathered, and gradients reduced, as one.
struct Bucket {
  int layer_count = 0;
  ChunkParameters parameters;
  int gathered = -1;  ///< event
  int reduced = -1;
};

/// Writes one rank's program down, in the order in which Megatron-LM's host code makes its calls.
class StepWriter {
 public:
  StepWriter(const TrainingSetup& setup, const Calibration& machine, Rank rank,
             const StepOptions& options)
      : setup_(setup),
        layout_(setup.layout),
        machine_(machine),
        options_(options),
        position_(position_of(setup.layout, rank)) {
    program_.slots = pipeline_slots(layout_, position_.stage);
  }

  StepProgram write() {
    make_buckets();
    gather_first();
    const auto count = static_cast<int>(program_.slots.size());
    receive_first();
    for (int slot = 0; slot < count; ++slot) write_slot(slot);
    finish_step();
    return std::move(program_);
  }

 private:
  [[nodiscard]] bool overlaps() const { return layout_.schedule == PipelineSchedule::kInterleaved; }
  [[nodiscard]] const PipelineSlot& slot_at(int slot) const {
    return program_.slots[static_cast<std::size_t>(slot)];
  }
  StepItem& add(StepAction action, StepStream stream) {
    StepItem& item = program_.items.emplace_back();
    item.action = action;
    item.stream = stream;
    return item;
  }
  int record(StepStream stream) {
    add(StepAction::kRecord, stream).event = program_.events;
    return program_.events++;
  }
  void wait(StepStream stream, int event, TrafficClass traffic) {
    StepItem& item = add(StepAction::kWait, stream);
    item.event = event;
    item.traffic = traffic;
  }
  void add_kernel(const LayerKernel& kernel) {
    StepItem& item = add(StepAction::kKernel, StepStream::kCompute);
    item.kernel = kernel.kernel;
    item.launches = kernel.launches;
  }

  // --- data parallelism ---

  [[nodiscard]] bool gathers() const { return options_.communication && layout_.data > 1; }

  void make_buckets() {
    for (int chunk = 0; chunk < layout_.chunks; ++chunk) {
      const LayerRange layers = layers_of(layout_, setup_.model.layers, position_.stage, chunk);
      const int count = std::min(setup_.buckets_per_chunk, layers.count);
      const ChunkParameters all = chunk_parameters(setup_, position_.stage, chunk);
      const auto share = [count](std::int64_t whole, int i) {
        return whole * (i + 1) / count - whole * i / count;
      };
      std::vector<Bucket>& buckets = buckets_.emplace_back();
      for (int i = 0; i < count; ++i) {
        buckets.push_back({.layer_count = layers.count * (i + 1) / count - layers.count * i / count,
                           .parameters = {share(all.shared, i), share(all.experts, i)}});
      }
    }
  }

  void gather(Bucket& bucket) {
    add_sharded(StepAction::kParameterGather, bucket, setup_.parameter_bytes);
    bucket.gathered = record(StepStream::kData);
  }

  /// One collective for what all replicas share, one for experts that fewer share. Whole blocks of
  /// the ranks, as the distributed optimiser pads them.
  void add_sharded(StepAction action, const Bucket& bucket, int bytes) {
    for (const bool experts : {false, true}) {
      const std::int64_t count = experts ? bucket.parameters.experts : bucket.parameters.shared;
      const std::int64_t ranks = experts ? layout_.data / layout_.expert : layout_.data;
      if (count == 0 || ranks == 1) continue;
      StepItem& item = add(action, StepStream::kData);
      item.size = Bytes((count + ranks - 1) / ranks * ranks * bytes);
      item.experts = experts;
    }
  }

  void gather_first() {
    if (!gathers()) return;
    if (setup_.overlap_gather) return gather(buckets_.front().front());
    for (std::vector<Bucket>& chunk : buckets_) {
      for (Bucket& bucket : chunk) gather(bucket);
    }
    wait(StepStream::kCompute, buckets_.back().back().gathered, TrafficClass::kData);
  }

  /// Before the first use of a bucket the next one is asked for (--overlap-param-gather).
  void use(int chunk, int bucket) {
    if (!gathers() || !setup_.overlap_gather) return;
    const auto at = [this](int c, int b) -> Bucket& {
      return buckets_[static_cast<std::size_t>(c)][static_cast<std::size_t>(b)];
    };
    const auto in_chunk = static_cast<int>(buckets_[static_cast<std::size_t>(chunk)].size());
    if (bucket + 1 < in_chunk) {
      gather(at(chunk, bucket + 1));
    } else if (chunk + 1 < layout_.chunks) {
      gather(at(chunk + 1, 0));
    }
    wait(StepStream::kCompute, at(chunk, bucket).gathered, TrafficClass::kData);
  }

  void reduce(Bucket& bucket) {
    const int ready = record(StepStream::kCompute);
    wait(StepStream::kData, ready, TrafficClass::kOther);
    add_sharded(StepAction::kGradientReduce, bucket, setup_.gradient_bytes);
    bucket.reduced = record(StepStream::kData);
  }

  void finish_step() {
    if (gathers()) {
      for (auto& chunk : buckets_) {
        for (Bucket& bucket : chunk) {
          if (bucket.reduced < 0) reduce(bucket);
        }
      }
      for (const auto& chunk : buckets_) {
        for (const Bucket& bucket : chunk) {
          wait(StepStream::kCompute, bucket.reduced, TrafficClass::kData);
        }
      }
    }
    // The norm of all gradients: nobody begins to update before everybody has reduced.
    if (options_.communication) add(StepAction::kNorm, StepStream::kCompute).size = Bytes(4);
    add_kernel(optimiser_kernel(setup_, machine_));
    add_kernel({{.alone = setup_.speed.step_overhead, .phase = Phase::kOther}, 1});
  }

  // --- one pass of a micro-batch ---

  void write_slot(int slot) {
    const PipelineSlot& pass = slot_at(slot);
    wait_for_messages(slot);
    // Gathers that a pass begins with are waited for before it is timed.
    const bool uses = pass.forward && pass.microbatch == 0;
    if (uses) use(pass.chunk, 0);
    add(StepAction::kSlotBegin, StepStream::kCompute).slot = slot;
    pass.forward ? write_forward(pass, uses) : write_backward(pass);
    add(StepAction::kSlotEnd, StepStream::kCompute).slot = slot;
    exchange_after(slot);
    if (!pass.forward && pass.microbatch == layout_.microbatches - 1) reduce_rest(pass.chunk);
  }

  void write_forward(const PipelineSlot& pass, bool uses) {
    const auto& buckets = buckets_[static_cast<std::size_t>(pass.chunk)];
    for (int i = 0; i < static_cast<int>(buckets.size()); ++i) {
      if (uses && i > 0) use(pass.chunk, i);
      for (int layer = 0; layer < buckets[static_cast<std::size_t>(i)].layer_count; ++layer) {
        write_layer(Phase::kForward);
      }
    }
    if (is_last(pass)) add_kernel(output_kernel(setup_, machine_, Phase::kForward));
  }

  void write_backward(const PipelineSlot& pass) {
    if (is_last(pass)) add_kernel(output_kernel(setup_, machine_, Phase::kBackward));
    auto& buckets = buckets_[static_cast<std::size_t>(pass.chunk)];
    const bool reduces =
        gathers() && setup_.overlap_reduce && pass.microbatch == layout_.microbatches - 1;
    for (std::size_t i = buckets.size(); i-- > 0;) {
      for (int layer = 0; layer < buckets[i].layer_count; ++layer) write_layer(Phase::kBackward);
      if (reduces && i > 0) reduce(buckets[i]);
    }
  }

  /// The chunk's last bucket, behind the messages that its neighbours wait for.
  void reduce_rest(int chunk) {
    if (gathers() && setup_.overlap_reduce) reduce(buckets_[static_cast<std::size_t>(chunk)][0]);
  }

  [[nodiscard]] bool is_last(const PipelineSlot& pass) const {
    return position_.stage == layout_.pipeline - 1 && pass.chunk == layout_.chunks - 1;
  }

  void write_layer(Phase phase) {
    std::array parts = {LayerPart::kAttention, LayerPart::kFeedForward};
    if (phase == Phase::kBackward) std::ranges::reverse(parts);
    for (const LayerPart part : parts) {
      // With sequence parallelism a part begins with an AllGather and ends with a ReduceScatter.
      add_tensor(StepAction::kTensorGather);
      const bool routes = part == LayerPart::kFeedForward && setup_.layout.expert > 1;
      if (routes) add_all_to_all();
      for (const LayerKernel& kernel : layer_kernels(setup_, machine_, part, phase))
        add_kernel(kernel);
      if (routes) add_all_to_all();
      add_tensor(StepAction::kTensorReduce);
    }
  }

  void add_tensor(StepAction action) {
    if (!options_.communication || layout_.tensor == 1) return;
    add(action, StepStream::kCompute).size = activation_size(setup_);
  }

  void add_all_to_all() {
    if (!options_.communication) return;
    // Every rank of a tensor-parallel group sends its part of the tokens.
    const Bytes part = activation_size(setup_) / layout_.tensor;
    add(StepAction::kExpertAllToAll, StepStream::kCompute).size =
        part / layout_.expert * layout_.expert;
  }

  // --- messages of the pipeline ---

  [[nodiscard]] Rank peer(int stage) const {
    return rank_at(layout_, {position_.tensor, position_.data, stage});
  }
  /// The first slot of that direction from `from` on; -1: there is none.
  [[nodiscard]] int first_of(bool forward, int from = 0) const {
    for (int slot = from; slot < static_cast<int>(program_.slots.size()); ++slot) {
      if (slot_at(slot).forward == forward) return slot;
    }
    return -1;
  }

  struct Call {
    StepStream stream;
    StepMessage message;
    int receives_for = -1;  ///< slot; of a send none
    bool forward = true;
  };
  [[nodiscard]] std::optional<Call> send_of(int slot) const {
    const PipelineSlot& pass = slot_at(slot);
    const auto stage = output_stage(layout_, position_.stage, pass);
    if (!stage) return std::nullopt;
    return Call{.stream = pass.forward ? StepStream::kForwardSend : StepStream::kBackwardSend,
                .message = {.sends = true, .peer = peer(*stage)},
                .forward = pass.forward};
  }
  [[nodiscard]] std::optional<Call> receive_of(int slot) const {
    const PipelineSlot& pass = slot_at(slot);
    const auto stage = input_stage(layout_, position_.stage, pass);
    if (!stage) return std::nullopt;
    return Call{.stream = pass.forward ? StepStream::kForwardReceive : StepStream::kBackwardReceive,
                .message = {.sends = false, .peer = peer(*stage)},
                .receives_for = slot,
                .forward = pass.forward};
  }

  /// Asks for inputs of that direction until so many passes beyond `slot` are asked for.
  void ask_ahead(bool forward, int slot, int passes, std::vector<Call>& calls) {
    int next = slot;
    for (int i = 0; i < passes; ++i) {
      next = first_of(forward, next + 1);
      if (next < 0) return;
      if (next <= asked_[forward]) continue;
      asked_[forward] = next;
      if (const auto call = receive_of(next)) calls.push_back(*call);
    }
  }

  /// A group's receives would keep its sends waiting for inputs that come later.
  [[nodiscard]] int ahead() const {
    return overlaps() && !options_.group_messages ? layout_.receive_ahead : 1;
  }

  /// The first backward's input is asked for behind the warm-up. In a group's stream it keeps what
  /// is sent later waiting, so where the warm-up is all forward passes it comes behind the last.
  [[nodiscard]] int before_first_backward() const {
    const int backward = first_of(false);
    const bool warm_up_is_all = warm_up_passes(layout_, position_.stage) == backward;
    return warm_up_is_all ? backward - 1 : std::max(backward - 2, 0);
  }

  void receive_first() {
    std::vector<Call> calls;
    ask_ahead(true, -1, ahead(), calls);
    exchange(calls);
  }

  /// What is sent and asked for when a slot has ended.
  void exchange_after(int slot) {
    std::vector<Call> calls;
    if (const auto send = send_of(slot)) calls.push_back(*send);
    const auto count = static_cast<int>(program_.slots.size());
    if (overlaps()) {
      // The next input of the same direction comes while the other direction computes.
      ask_ahead(slot_at(slot).forward, slot, ahead(), calls);
      if (slot == before_first_backward()) ask_ahead(false, slot, ahead(), calls);
      return exchange(calls);
    }
    if (slot + 1 < count) {
      if (const auto receive = receive_of(slot + 1)) calls.push_back(*receive);
    }
    exchange(calls);
    // Nothing overlaps: what was sent has arrived, what was asked for is here.
    for (const bool forward : {true, false}) wait_for_sends(forward);
    if (slot + 1 < count) wait_for_input(slot + 1);
  }

  void exchange(const std::vector<Call>& calls) {
    if (calls.empty()) return;
    const int here = record(StepStream::kCompute);
    if (options_.group_messages) {
      for (const bool forward : {true, false}) exchange_group(calls, forward, here);
      return;
    }
    for (const Call& call : calls) {
      wait(call.stream, here, TrafficClass::kOther);
      StepItem& item = add(StepAction::kMessages, call.stream);
      item.size = message_size();
      item.messages.push_back(call.message);
      item.forward = call.forward;
      keep(call, record(call.stream));
    }
  }
  /// Both directions have communicators of their own, and both ends call them in this order.
  void exchange_group(const std::vector<Call>& calls, bool forward, int here) {
    std::vector<Call> group;
    std::ranges::copy_if(calls, std::back_inserter(group),
                         [forward](const Call& call) { return call.forward == forward; });
    if (group.empty()) return;
    wait(StepStream::kMessages, here, TrafficClass::kOther);
    StepItem& item = add(StepAction::kMessages, StepStream::kMessages);
    item.size = message_size();
    item.forward = forward;
    for (const Call& call : group) item.messages.push_back(call.message);
    const int done = record(StepStream::kMessages);
    for (const Call& call : group) keep(call, done);
  }
  void keep(const Call& call, int done) {
    if (call.receives_for < 0) {
      sent_[call.forward].push_back(done);
    } else {
      received_[call.receives_for] = done;
    }
  }

  /// With sequence parallelism every rank of a tensor-parallel group has its part of the sequence.
  [[nodiscard]] Bytes message_size() const { return activation_size(setup_) / layout_.tensor; }

  /// A pass needs its input; and Megatron-LM lets go of an output before the next pass of its
  /// direction makes one.
  void wait_for_messages(int slot) {
    wait_for_sends(slot_at(slot).forward);
    wait_for_input(slot);
  }
  void wait_for_sends(bool forward) {
    for (const int event : std::exchange(sent_[forward], {})) {
      wait(StepStream::kCompute, event, TrafficClass::kPipeline);
    }
  }
  void wait_for_input(int slot) {
    const auto found = received_.find(slot);
    if (found == received_.end()) return;
    wait(StepStream::kCompute, found->second, TrafficClass::kPipeline);
    received_.erase(found);
  }

  const TrainingSetup& setup_;
  const ParallelLayout& layout_;
  const Calibration& machine_;
  StepOptions options_;
  Position position_;
  StepProgram program_;
  std::vector<std::vector<Bucket>> buckets_;  ///< by chunk
  // Of messages, by direction (1: forward) or by the slot that needs them.
  std::array<std::vector<int>, 2> sent_;  ///< events not waited for
  std::map<int, int> received_;           ///< the same
  std::array<int, 2> asked_ = {-1, -1};   ///< last slot whose input was asked for
};

}  // namespace

StepProgram make_step(const TrainingSetup& setup, const Calibration& machine, Rank rank,
                      const StepOptions& options) {
  return StepWriter(setup, machine, rank, options).write();
}

}  // namespace hoccl::sim
