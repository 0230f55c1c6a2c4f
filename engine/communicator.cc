#include "engine/communicator.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {
namespace {

/// Plans a communicator keeps: a training loop repeats a few dozen distinct operations.
constexpr std::size_t kPlanCacheCapacity = 64;

void require_inside(std::string_view side, Bytes end, const Region& buffer, Rank rank) {
  if (end <= buffer.size) return;
  throw ConfigError(fmt::format("{} buffer of rank {} = {}: expected at least {}", side, rank,
                                to_string(buffer.size), to_string(end)));
}

class SubmittedWork : public Work {
 public:
  SubmittedWork(const Port& port, WorkId id) : port_(port), id_(id) {}
  [[nodiscard]] std::optional<Status> status() const override { return port_.query(id_); }

 private:
  const Port& port_;
  WorkId id_;
};

}  // namespace

Communicator::Communicator(Port& port, std::uint16_t id, const CompileOptions& options)
    : port_(port), id_(id), options_(options), cache_(port.topology(), kPlanCacheCapacity) {}

std::shared_ptr<Work> Communicator::send(Region buffer, Rank target, StreamId stream) {
  const SendRecvRequest request{SendRecvRequest::Side::kSend, target, buffer};
  return enqueue({&request, 1}, stream);
}

std::shared_ptr<Work> Communicator::receive(Region buffer, Rank source, StreamId stream) {
  const SendRecvRequest request{SendRecvRequest::Side::kReceive, source, buffer};
  return enqueue({&request, 1}, stream);
}

void Communicator::group_begin(StreamId stream) {
  HOCCL_CHECK(!grouping_, "a group is open on stream {}", group_stream_);
  grouping_ = true;
  group_stream_ = stream;
}

std::shared_ptr<Work> Communicator::group_end() {
  HOCCL_CHECK(grouping_, "no group is open on communicator {}", id_);
  grouping_ = false;
  return submit(std::exchange(group_, {}), group_stream_);
}

std::shared_ptr<Work> Communicator::enqueue(std::span<const SendRecvRequest> group,
                                            StreamId stream) {
  std::vector<Operation> operations;
  for (const SendRecvRequest& request : group) operations.push_back(make_operation(request));
  return enqueue_operations(std::move(operations), stream);
}

std::shared_ptr<Work> Communicator::run(std::shared_ptr<const Plan> plan, Region send_buffer,
                                        Region receive_buffer, StreamId stream) {
  for (const Transfer& transfer : plan->transfers) {
    if (transfer.source == rank()) {
      require_inside("send", transfer.source_offset + transfer.size, send_buffer, rank());
    }
    if (delivers_to(transfer, rank())) {
      require_inside("receive", transfer.target_offset + transfer.size, receive_buffer, rank());
    }
  }
  Operation operation;
  operation.id.communicator = id_;
  operation.id.number = next_collective_++;
  operation.plan = std::move(plan);
  operation.send_buffer = send_buffer;
  operation.receive_buffer = receive_buffer;
  return enqueue_operations({std::move(operation)}, stream);
}

std::shared_ptr<Work> Communicator::enqueue_operations(std::vector<Operation> operations,
                                                       StreamId stream) {
  if (!grouping_) return submit(std::move(operations), stream);
  HOCCL_CHECK(stream == group_stream_, "the group is on stream {}, the operation on {}",
              group_stream_, stream);
  group_.insert(group_.end(), operations.begin(), operations.end());
  return nullptr;
}

Operation Communicator::make_operation(const SendRecvRequest& request) {
  const bool sends = request.side == SendRecvRequest::Side::kSend;
  const Rank source = sends ? port_.rank() : request.peer;
  const Rank target = sends ? request.peer : port_.rank();
  Operation operation;
  operation.plan = cache_.get({"sendrecv", source, target, request.buffer.size}, options_);
  operation.id.communicator = id_;
  operation.id.source = static_cast<std::uint16_t>(source.value());
  operation.id.target = static_cast<std::uint16_t>(target.value());
  operation.id.number = pair_numbers_[{source, target}]++;
  (sends ? operation.send_buffer : operation.receive_buffer) = request.buffer;
  return operation;
}

std::shared_ptr<Work> Communicator::submit(std::vector<Operation> operations, StreamId stream) {
  SubmitGroup group;
  group.gate = {id_, stream};
  group.sequence = ++sequences_[stream];
  group.work = WorkId((std::int64_t{id_} << 48) | next_work_++);
  group.operations = std::move(operations);
  const Gate gate = group.gate;
  const Sequence sequence = group.sequence;
  const WorkId work = group.work;
  port_.enqueue_ready(gate, sequence);
  port_.submit(std::make_shared<const Command>(Command{std::move(group)}));
  port_.enqueue_wait(gate, sequence);
  return std::make_shared<SubmittedWork>(port_, work);
}

void Communicator::abort() {
  port_.submit(std::make_shared<const Command>(Command{AbortCommunicator{id_}}));
}

}  // namespace hoccl::engine
