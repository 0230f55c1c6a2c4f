#include "sim/train/launch_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "engine/base/check.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::StreamId;

namespace {

StreamId id_of(StepStream stream) { return StreamId(static_cast<int>(stream)); }

TrafficClass class_of(StepAction action) {
  switch (action) {
    case StepAction::kMessages:
      return TrafficClass::kPipeline;
    case StepAction::kTensorGather:
    case StepAction::kTensorReduce:
      return TrafficClass::kTensor;
    case StepAction::kExpertAllToAll:
      return TrafficClass::kExpert;
    case StepAction::kParameterGather:
    case StepAction::kGradientReduce:
      return TrafficClass::kData;
    case StepAction::kNorm:
    case StepAction::kKernel:
    case StepAction::kRecord:
    case StepAction::kWait:
    case StepAction::kSlotBegin:
    case StepAction::kSlotEnd:
      break;
  }
  return TrafficClass::kOther;
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOther:
      return "optimiser";
  }
  return "";
}

}  // namespace

LaunchThread::LaunchThread(SimFabric& fabric, TrainingSystem& system, ComputeUnit& unit, Rank rank,
                           const StepProgram& program)
    : fabric_(fabric),
      port_(fabric.sim_port(rank)),
      system_(system),
      unit_(unit),
      rank_(rank),
      program_(program),
      launch_(fabric.calibration().launch),
      launched_(program.items.size()),
      begun_(program.items.size()),
      events_(static_cast<std::size_t>(program.events)) {
  for (const PipelineSlot& slot : program.slots) record_.passes.push_back({.slot = slot});
}

GpuStream& LaunchThread::stream(StepStream stream) {
  return port_.stream(id_of(stream)).gpu_stream();
}

/// The same buffer for all operations of a stream: they come one after the other.
Region LaunchThread::buffer(StepStream stream, Bytes size) {
  Region& kept = buffers_[static_cast<std::size_t>(stream)];
  if (kept.size < size)
    kept = {.buffer = fabric_.allocate(rank_, size), .offset = {}, .size = size};
  Region part = kept;
  part.size = size;
  return part;
}

void LaunchThread::next() {
  if (item_ == program_.items.size()) return;
  const StepItem& item = program_.items[item_];
  const auto number = static_cast<std::uint64_t>(item_);
  if (item.action == StepAction::kKernel) {
    // An empty queue takes any kernel, so that nothing waits for ever.
    if (in_queue_ > 0 && in_queue_ + item.launches > launch_.queue) {
      blocked_ = true;
      return;
    }
    in_queue_ += item.launches;
    port_.work(item.launches * launch_.kernel,
               Callback::to<&LaunchThread::launch_kernel>(*this, number));
    return;
  }
  const bool communicates =
      class_of(item.action) != TrafficClass::kOther || item.action == StepAction::kNorm;
  Seconds cost = communicates ? launch_.kernel : fabric_.calibration().cpu.enqueue_wait;
  if (item.action == StepAction::kMessages) {
    for (std::size_t i = 0; i < item.messages.size(); ++i) {
      const Seconds registration = system_.registration(rank_);
      record_.registration += registration;
      cost += registration;
    }
  }
  port_.work(cost, Callback::to<&LaunchThread::call>(*this, number));
}

void LaunchThread::launch_kernel(std::uint64_t number) {
  launched_[number] = fabric_.now();
  stream(StepStream::kCompute)
      .enqueue_external(Callback::to<&LaunchThread::kernel_begins>(*this, number));
  called();
}

void LaunchThread::kernel_begins(std::uint64_t number) {
  begun_[number] = fabric_.now();
  record_.slack.push_back(begun_[number] - launched_[number]);
  unit_.start(program_.items[number].kernel,
              Callback::to<&LaunchThread::kernel_ended>(*this, number));
}

void LaunchThread::kernel_ended(std::uint64_t number) {
  const StepItem& item = program_.items[number];
  in_queue_ -= item.launches;
  record_.end = fabric_.now();
  trace(name_of(item.kernel.phase), begun_[number]);
  stream(StepStream::kCompute).release();
  if (!blocked_) return;
  blocked_ = false;
  next();
}

void LaunchThread::called() {
  record_.launch_end = fabric_.now();
  ++item_;
  next();
}

/// What a call does when the thread has come to it. Calls of a system spend more of its time, so
/// what is enqueued behind one goes the same way.
void LaunchThread::call(std::uint64_t number) {
  const StepItem& item = program_.items[number];
  const StreamId id = id_of(item.stream);
  GpuStream& on = stream(item.stream);
  switch (item.action) {
    case StepAction::kKernel:
      HOCCL_CHECK(false, "rank {}: item {} is a kernel", rank_, number);
      return;
    case StepAction::kRecord:
      on.enqueue_signal(
          Callback::to<&LaunchThread::event_passed>(*this, static_cast<std::uint64_t>(item.event)));
      break;
    case StepAction::kWait:
      enqueue_wait(item, on);
      break;
    case StepAction::kSlotBegin:
    case StepAction::kSlotEnd:
      on.enqueue_signal(Callback::to<&LaunchThread::mark>(*this, number));
      break;
    case StepAction::kMessages:
    case StepAction::kTensorGather:
    case StepAction::kTensorReduce:
    case StepAction::kExpertAllToAll:
    case StepAction::kParameterGather:
    case StepAction::kGradientReduce:
    case StepAction::kNorm:
      on.enqueue_signal(Callback::to<&LaunchThread::operation_begins>(*this, number));
      works_.push_back(item.action == StepAction::kMessages ? call_messages(item)
                                                            : call_collective(item, id));
      // Behind what the system has enqueued, which its calls do in the thread's time.
      port_.work(Seconds(0.0), Callback::to<&LaunchThread::operation_called>(*this, number));
      return;
  }
  called();
}

void LaunchThread::enqueue_wait(const StepItem& item, GpuStream& on) {
  const bool computes = item.stream == StepStream::kCompute;
  if (computes) on.enqueue_signal(Callback::to<&LaunchThread::wait_begins>(*this));
  on.enqueue_wait(events_[static_cast<std::size_t>(item.event)], 1, Seconds(0.0));
  if (!computes) return;
  on.enqueue_signal(
      Callback::to<&LaunchThread::wait_ended>(*this, static_cast<std::uint64_t>(item.traffic)));
}

void LaunchThread::wait_begins() { wait_begin_ = fabric_.now(); }

void LaunchThread::wait_ended(std::uint64_t traffic) {
  record_.exposed[traffic] += fabric_.now() - wait_begin_;
}

void LaunchThread::operation_called(std::uint64_t number) {
  stream(program_.items[number].stream)
      .enqueue_signal(Callback::to<&LaunchThread::operation_ended>(*this, number));
  called();
}

void LaunchThread::operation_begins(std::uint64_t number) { begun_[number] = fabric_.now(); }

void LaunchThread::operation_ended(std::uint64_t number) {
  const StepItem& item = program_.items[number];
  const Seconds time = fabric_.now() - begun_[number];
  RankRecord::Operations& all = record_.operations[static_cast<std::size_t>(class_of(item.action))];
  ++all.count;
  all.time += time;
  all.longest = std::max(all.longest, time);
}

void LaunchThread::trace(std::string_view name, Seconds begin) {
  if (fabric_.trace() == nullptr) return;
  fabric_.trace()->record(
      {.begin = begin,
       .end = fabric_.now(),
       .track = {rank_, engine::TrackKind::kStream, id_of(StepStream::kCompute).value()},
       .name = name,
       .flow = {},
       .chunk = -1,
       .size = {},
       .operation = {}});
}

LaunchThread::Work LaunchThread::call_messages(const StepItem& item) {
  std::vector<engine::SendRecvRequest> requests;
  for (const StepMessage& message : item.messages) {
    using Side = engine::SendRecvRequest::Side;
    // A group's messages are parts of one buffer per side.
    requests.push_back(
        {message.sends ? Side::kSend : Side::kReceive, message.peer,
         buffer(message.sends ? item.stream : StepStream::kForwardReceive, item.size)});
  }
  return system_.pipeline(rank_, item.forward).enqueue(requests, id_of(item.stream));
}

LaunchThread::Work LaunchThread::call_collective(const StepItem& item, StreamId id) {
  switch (item.action) {
    case StepAction::kTensorGather:
    case StepAction::kTensorReduce:
      return call_tensor(item, id);
    case StepAction::kExpertAllToAll:
      return gather(system_.expert(rank_), engine::kAllToAllName, item, id);
    case StepAction::kParameterGather:
      return gather(system_.data(rank_, item.experts), engine::kAllGatherName, item, id);
    case StepAction::kGradientReduce:
      return system_.reduction(rank_, item.experts).reduce_scatter(item.size, id);
    case StepAction::kNorm:
      return system_.everybody(rank_).all_reduce(item.size, id);
    case StepAction::kMessages:
    case StepAction::kKernel:
    case StepAction::kRecord:
    case StepAction::kWait:
    case StepAction::kSlotBegin:
    case StepAction::kSlotEnd:
      break;
  }
  HOCCL_CHECK(false, "rank {}: not a collective", rank_);
  return nullptr;
}

LaunchThread::Work LaunchThread::call_tensor(const StepItem& item, StreamId id) {
  const bool announces = system_.has_priority_switch();
  if (announces) port_.enqueue_foreground(id, true);
  Work work = item.action == StepAction::kTensorGather
                  ? gather(system_.tensor(rank_), engine::kAllGatherName, item, id)
                  : system_.tensor(rank_).reduce_scatter(item.size, id);
  if (announces) port_.enqueue_foreground(id, false);
  return work;
}

LaunchThread::Work LaunchThread::gather(engine::CollectiveSystem& system, std::string_view pattern,
                                        const StepItem& item, StreamId id) {
  const Region region = buffer(item.stream, item.size);
  return system.enqueue(
      engine::CollectiveRequest{
          .pattern = {.name = std::string(pattern), .size = item.size, .in_place = true},
          .send_buffer = region,
          .receive_buffer = region},
      id);
}

std::string LaunchThread::first_error() const {
  for (const Work& work : works_) {
    const std::optional<engine::Status> status = work->status();
    if (!status) return fmt::format("rank {}: an operation did not end", rank_);
    if (!status->ok()) return to_string(*status);
  }
  return {};
}

void LaunchThread::mark(std::uint64_t number) {
  const StepItem& item = program_.items[number];
  RankRecord::Pass& pass = record_.passes[static_cast<std::size_t>(item.slot)];
  (item.action == StepAction::kSlotBegin ? pass.begin : pass.end) = fabric_.now();
}

}  // namespace hoccl::sim
