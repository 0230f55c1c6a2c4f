#include "engine/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/pattern/sendrecv.h"
#include "engine/topology/topology.h"
#include "engine/traffic.h"

namespace hoccl::engine {
namespace {

void require_inside(std::string_view side, Bytes end, const Region& buffer, Rank rank) {
  if (end <= buffer.size) return;
  throw ConfigError(fmt::format("{} buffer of rank {} = {}: expected at least {}", side, rank,
                                to_string(buffer.size), to_string(end)));
}

/// Throws ConfigError when a buffer of the rank is too small for its part of the plan.
void require_room(const Plan& plan, Rank rank, const Region& send, const Region& receive) {
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.source == rank && transfer.after.is_none()) {
      require_inside("send", transfer.source_offset + transfer.size, send, rank);
    }
    if (delivers_to(transfer, rank)) {
      require_inside("receive", transfer.target_offset + transfer.size, receive, rank);
    }
  }
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
    : Communicator(port, id, options, std::make_shared<PlanCaches>(port.topology())) {}

Communicator::Communicator(Port& port, std::uint16_t id, const CompileOptions& options,
                           std::shared_ptr<PlanCaches> caches, std::vector<Rank> group,
                           FlowClass flow_class)
    : port_(port),
      id_(id),
      options_(options),
      caches_(std::move(caches)),
      group_(std::move(group)),
      flow_class_(flow_class) {
  if (group_.empty()) return;
  const int ranks = port_.topology().rank_count();
  const bool ascends = std::ranges::adjacent_find(group_, std::greater_equal<>()) == group_.end();
  if (!ascends || group_.front().value() < 0 || group_.back().value() >= ranks) {
    throw ConfigError(fmt::format("group = {}: expected ascending ranks from 0 to {}",
                                  fmt::join(group_, ","), ranks - 1));
  }
  if (!std::ranges::binary_search(group_, port_.rank())) {
    throw ConfigError(fmt::format("group = {}: expected rank {}, whose communicator it is, in it",
                                  fmt::join(group_, ","), port_.rank()));
  }
}

Rank Communicator::rank() const {
  if (group_.empty()) return port_.rank();
  return Rank(std::ranges::lower_bound(group_, port_.rank()) - group_.begin());
}

int Communicator::size() const {
  return group_.empty() ? port_.topology().rank_count() : static_cast<int>(group_.size());
}

std::shared_ptr<Work> Communicator::send(Region buffer, Rank target, StreamId stream) {
  const SendRecvRequest request{SendRecvRequest::Side::kSend, target, buffer};
  return enqueue({&request, 1}, stream);
}

std::shared_ptr<Work> Communicator::receive(Region buffer, Rank source, StreamId stream) {
  const SendRecvRequest request{SendRecvRequest::Side::kReceive, source, buffer};
  return enqueue({&request, 1}, stream);
}

std::shared_ptr<Work> Communicator::collective(CollectiveRequest request, StreamId stream) {
  if (!group_.empty()) request.pattern.group = group_;
  if (flow_class_ == FlowClass::kBackground) request.pattern.flow_class = flow_class_;
  MemberList members;
  if (!request.pattern.group.empty()) {
    members = std::make_shared<const std::vector<Rank>>(request.pattern.group);
  }
  if (request.row.empty()) {
    return run(plan_of(request), request.send_buffer, request.receive_buffer, stream,
               std::move(members));
  }
  Operation operation =
      next_collective(request.send_buffer, request.receive_buffer, std::move(members));
  operation.counts = counts_of(request);
  return enqueue_operations({std::move(operation)}, stream);
}

std::shared_ptr<const Counts> Communicator::counts_of(const CollectiveRequest& request) {
  const auto members = static_cast<std::size_t>(
      request.pattern.group.empty() ? port_.topology().rank_count() : request.pattern.group.size());
  if (request.row.size() != members) {
    throw ConfigError(fmt::format("counts of rank {}: {} of them; expected {}, one per rank",
                                  port_.rank(), request.row.size(), members));
  }
  // Called by the proxy, perhaps after this communicator is gone.
  const auto plan = [request, &topology = port_.topology(), caches = caches_, options = options_,
                     rank = port_.rank()](const TrafficMatrix& matrix) {
    std::shared_ptr<const Plan> result;
    try {
      result = caches->of_counts.get_for_node(
          matrix_of_job(matrix, request.pattern.group, topology.rank_count()),
          request.pattern.in_place, options, topology.node_of(rank));
      require_room(*result, rank, request.send_buffer, request.receive_buffer);
    } catch (const ConfigError&) {
      result = nullptr;  // counts that nobody can serve: the operation says so
    }
    return result;
  };
  return std::make_shared<const Counts>(Counts{request.row, plan});
}

std::shared_ptr<const Plan> Communicator::plan_of(const CollectiveRequest& request) {
  const Topology& topology = port_.topology();
  const NodeId node = topology.node_of(port_.rank());
  PlanCache& cache = caches_->of_calls;
  if (request.matrix == nullptr) return cache.get_for_node(request.pattern, options_, node);
  return cache.get_for_node(
      matrix_of_job(*request.matrix, request.pattern.group, topology.rank_count()),
      request.pattern.in_place, options_, node);
}

void Communicator::group_begin(StreamId stream) {
  HOCCL_CHECK(!grouping_, "a group is open on stream {}", open_group_stream_);
  grouping_ = true;
  open_group_stream_ = stream;
}

std::shared_ptr<Work> Communicator::group_end() {
  HOCCL_CHECK(grouping_, "no group is open on communicator {}", id_);
  grouping_ = false;
  return submit(std::exchange(open_group_, {}), open_group_stream_);
}

std::shared_ptr<Work> Communicator::enqueue(std::span<const SendRecvRequest> group,
                                            StreamId stream) {
  std::vector<Operation> operations;
  for (const SendRecvRequest& request : group) operations.push_back(make_operation(request));
  return enqueue_operations(std::move(operations), stream);
}

std::shared_ptr<Work> Communicator::enqueue(const CollectiveRequest& request, StreamId stream) {
  return collective(request, stream);
}

std::shared_ptr<Work> Communicator::run(std::shared_ptr<const Plan> plan, Region send_buffer,
                                        Region receive_buffer, StreamId stream,
                                        MemberList members) {
  require_room(*plan, port_.rank(), send_buffer, receive_buffer);
  Operation operation = next_collective(send_buffer, receive_buffer, std::move(members));
  operation.plan = std::move(plan);
  return enqueue_operations({std::move(operation)}, stream);
}

Operation Communicator::next_collective(Region send_buffer, Region receive_buffer,
                                        MemberList members) {
  Operation operation;
  operation.id.communicator = id_;
  operation.id.number = next_collective_++;
  operation.send_buffer = send_buffer;
  operation.receive_buffer = receive_buffer;
  operation.members = std::move(members);
  return operation;
}

std::shared_ptr<Work> Communicator::enqueue_operations(std::vector<Operation> operations,
                                                       StreamId stream) {
  if (!grouping_) return submit(std::move(operations), stream);
  HOCCL_CHECK(stream == open_group_stream_, "the group is on stream {}, the operation on {}",
              open_group_stream_, stream);
  open_group_.insert(open_group_.end(), operations.begin(), operations.end());
  return nullptr;
}

Operation Communicator::make_operation(const SendRecvRequest& request) {
  const bool sends = request.side == SendRecvRequest::Side::kSend;
  if (request.peer.value() < 0 || request.peer.value() >= size()) {
    throw ConfigError(
        fmt::format("peer = {}: expected a rank from 0 to {}", request.peer, size() - 1));
  }
  const Rank peer = group_.empty() ? request.peer : group_[request.peer.index()];
  const Rank source = sends ? port_.rank() : peer;
  const Rank target = sends ? peer : port_.rank();
  Operation operation;
  operation.plan = caches_->of_calls.get({.name = std::string(kSendRecvName),
                                          .source = source,
                                          .target = target,
                                          .size = request.buffer.size,
                                          .flow_class = flow_class_},
                                         options_);
  operation.members = std::make_shared<const std::vector<Rank>>(
      std::initializer_list<Rank>{std::min(source, target), std::max(source, target)});
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
