#include "sim/rivals/nccl_flows.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"

namespace hoccl::sim {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Rank;
using engine::Seconds;
using engine::SendRecvRequest;
using Kind = NcclFlows::Request::Kind;

namespace {

class FlowWork : public engine::Work {
 public:
  [[nodiscard]] std::optional<engine::Status> status() const override {
    return ended_ ? std::optional(engine::Status{}) : std::nullopt;
  }
  void set_ended() { ended_ = true; }

 private:
  bool ended_ = false;
};

}  // namespace

struct NcclFlows::Kernel {
  NcclFlowGroup group;
  Rank rank;
  Request request;
  engine::StreamId stream_id;
  GpuStream* stream = nullptr;
  std::uint64_t call = 0;  ///< of this rank among the group's collectives
  std::size_t unfinished = 0;
  Seconds begin{0.0};
  std::shared_ptr<FlowWork> work = std::make_shared<FlowWork>();
};

NcclFlows::NcclFlows(NcclEnvironment environment, SmPool& sms, std::function<SimPort&(Rank)> port,
                     int capacity, bool ideal)
    : environment_(std::move(environment)),
      sms_(sms),
      port_(std::move(port)),
      capacity_(capacity),
      ideal_(ideal),
      waiting_(static_cast<std::size_t>(environment_.topology.gpu_count())),
      moved_(static_cast<std::size_t>(environment_.topology.gpu_count())) {}

NcclFlows::~NcclFlows() = default;

std::shared_ptr<engine::Work> NcclFlows::launch(const NcclFlowGroup& group, Rank rank,
                                                Request request, engine::StreamId stream) {
  const std::uint64_t number = next_kernel_++;
  auto kernel = std::make_unique<Kernel>();
  kernel->group = group;
  kernel->rank = rank;
  kernel->stream_id = stream;
  kernel->stream = &environment_.stream(rank, stream);
  if (request.kind != Kind::kMessages) kernel->call = next_call_[{group.id, rank}]++;
  kernel->request = std::move(request);
  std::shared_ptr<engine::Work> work = kernel->work;
  kernels_.emplace(number, std::move(kernel));
  port_(rank).enqueue_external(stream, Callback::to<&NcclFlows::stream_arrived>(*this, number),
                               environment_.constants.kernel_launch);
  return work;
}

void NcclFlows::stream_arrived(std::uint64_t number) {
  Kernel& kernel = *kernels_.at(number);
  kernel.begin = environment_.clock.now();
  if (ideal_) {
    // Only messages order ranks: a collective that takes no time waits for nobody.
    if (kernel.request.kind == Kind::kMessages) return join_messages(number, kernel);
    kernel.unfinished = 1;
    return part_ended(number);
  }
  std::deque<std::uint64_t>& waiting = waiting_[environment_.topology.gpu_of(kernel.rank).index()];
  if (!waiting.empty() || !has_room(kernel)) {
    waiting.push_back(number);
  } else {
    hold(number);
  }
}

bool NcclFlows::has_room(const Kernel& kernel) const {
  return sms_.held(environment_.topology.gpu_of(kernel.rank)) + kernel.group.sms() <= capacity_;
}

void NcclFlows::hold(std::uint64_t number) {
  const Kernel& kernel = *kernels_.at(number);
  sms_.hold(environment_.topology.gpu_of(kernel.rank), kernel.group.sms(), kernel.group.traffic);
  environment_.clock.after(environment_.constants.kernel_start,
                           Callback::to<&NcclFlows::begin>(*this, number));
}

/// In the order in which they came.
void NcclFlows::admit(engine::GpuId gpu) {
  std::deque<std::uint64_t>& waiting = waiting_[gpu.index()];
  while (!waiting.empty() && has_room(*kernels_.at(waiting.front()))) {
    hold(waiting.front());
    waiting.pop_front();
  }
}

void NcclFlows::begin(std::uint64_t number) {
  Kernel& kernel = *kernels_.at(number);
  if (kernel.request.kind == Kind::kMessages) {
    join_messages(number, kernel);
  } else {
    join_collective(number, kernel);
  }
}

void NcclFlows::join_messages(std::uint64_t number, Kernel& kernel) {
  // A copy: the kernel may end, and go, with its last message.
  const std::vector<SendRecvRequest> messages = kernel.request.messages;
  const NcclFlowGroup group = kernel.group;
  const Rank rank = kernel.rank;
  kernel.unfinished = messages.size();
  for (const SendRecvRequest& message : messages) {
    const bool sends = message.side == SendRecvRequest::Side::kSend;
    const Rank peer = group.members.at(message.peer.index());
    const Pair pair = {group.id, sends ? rank : peer, sends ? peer : rank};
    Halves& halves = messages_[pair];
    auto& own = sends ? halves.sends : halves.receives;
    auto& other = sends ? halves.receives : halves.sends;
    const auto beside = std::ranges::count(messages, message.side, &SendRecvRequest::side);
    own.push_back({number, message.buffer.size, static_cast<int>(beside)});
    if (other.empty()) continue;
    HOCCL_CHECK(own.front().size == other.front().size, "rank {} and {}: {} and {} bytes", rank,
                peer, own.front().size.count(), other.front().size.count());
    Hop hop{.source = std::get<1>(pair),
            .target = std::get<2>(pair),
            .size = own.front().size,
            .kernels = {own.front().kernel, other.front().kernel}};
    hop.share = 1.0 / std::max(own.front().beside, other.front().beside);
    hop.latency = step_latency(hop.source, hop.target);
    own.pop_front();
    other.pop_front();
    start(std::move(hop));
  }
}

void NcclFlows::join_collective(std::uint64_t number, Kernel& kernel) {
  const auto key = std::pair(kernel.group.id, kernel.call);
  Meeting& meeting = meetings_[key];
  HOCCL_CHECK(meeting.kernels.empty() || meeting.size == kernel.request.size,
              "rank {}: a collective of {} bytes, others have {}", kernel.rank,
              kernel.request.size.count(), meeting.size.count());
  meeting.size = kernel.request.size;
  meeting.kernels.push_back(number);
  if (meeting.kernels.size() < kernel.group.members.size()) return;
  const Meeting all = std::move(meeting);
  meetings_.erase(key);
  begin_collective(kernel, all);
}

void NcclFlows::begin_collective(const Kernel& any, const Meeting& meeting) {
  const std::vector<Rank> members = any.group.members;
  const auto count = static_cast<std::int64_t>(members.size());
  const Kind kind = any.request.kind;
  std::vector<Hop> hops;
  if (kind == Kind::kAllToAll) {
    for (const Rank source : members) {
      for (const Rank target : members) {
        if (source == target) continue;
        hops.push_back({source, target, meeting.size / count, meeting.kernels,
                        step_latency(source, target), 1.0 / static_cast<double>(count - 1)});
      }
    }
  } else if (count > 1) {
    // Every block goes round the ring, of an all-reduce twice.
    const std::int64_t rounds = kind == Kind::kAllReduce ? 2 * (count - 1) : count - 1;
    Seconds latency{0.0};
    for (std::size_t i = 0; i < members.size(); ++i) {
      latency = std::max(latency, step_latency(members[i], members[(i + 1) % members.size()]));
    }
    // A rank's steps are one more than its sends (NcclRingProgram::steps).
    const double share = static_cast<double>(rounds) / static_cast<double>(rounds + 1);
    for (std::size_t i = 0; i < members.size(); ++i) {
      hops.push_back({members[i], members[(i + 1) % members.size()], meeting.size * rounds / count,
                      meeting.kernels, static_cast<double>(rounds) * latency, share});
    }
  }
  for (const std::uint64_t number : meeting.kernels) {
    kernels_.at(number)->unfinished = std::max<std::size_t>(hops.size(), 1);
  }
  if (hops.empty()) {
    for (const std::uint64_t number : meeting.kernels) part_ended(number);
  }
  for (Hop& hop : hops) start(std::move(hop));
}

void NcclFlows::start(Hop hop) {
  if (ideal_) {
    for (const std::uint64_t kernel : hop.kernels) part_ended(kernel);
    return;
  }
  const std::uint64_t number = next_hop_++;
  const int channels = kernels_.at(hop.kernels.front())->group.channels;
  const Hop& kept = hops_.emplace(number, std::move(hop)).first->second;
  environment_.network.start(route(kept.source, kept.target), kept.size,
                             Callback::to<&NcclFlows::hop_ended>(*this, number),
                             rate(kept.source, kept.target, channels, kept.share));
}

void NcclFlows::hop_ended(std::uint64_t number) {
  const Hop& hop = hops_.at(number);
  for (const Rank rank : {hop.source, hop.target}) {
    moved_[environment_.topology.gpu_of(rank).index()] += hop.size;
  }
  environment_.clock.after(hop.latency, Callback::to<&NcclFlows::hop_arrived>(*this, number));
}

void NcclFlows::hop_arrived(std::uint64_t number) {
  const Hop hop = std::move(hops_.at(number));
  hops_.erase(number);
  for (const std::uint64_t kernel : hop.kernels) part_ended(kernel);
}

void NcclFlows::part_ended(std::uint64_t number) {
  const auto found = kernels_.find(number);
  HOCCL_CHECK(found != kernels_.end() && found->second->unfinished > 0, "kernel {} ended twice",
              number);
  if (--found->second->unfinished > 0) return;
  const std::unique_ptr<Kernel> kernel = std::move(found->second);
  kernels_.erase(found);
  if (!ideal_) {
    sms_.release(environment_.topology.gpu_of(kernel->rank), kernel->group.sms(),
                 kernel->group.traffic);
    admit(environment_.topology.gpu_of(kernel->rank));
  }
  kernel->work->set_ended();
  if (environment_.trace != nullptr) {
    environment_.trace->record(
        {.begin = kernel->begin,
         .end = environment_.clock.now(),
         .track = {kernel->rank, engine::TrackKind::kStream, kernel->stream_id.value()},
         .name = to_string(kernel->group.traffic),
         .flow = {},
         .chunk = -1,
         .size = kernel->request.size,
         .operation = {}});
  }
  kernel->stream->release();
}

bool NcclFlows::is_local(Rank source, Rank target) const {
  return environment_.topology.node_of(source) == environment_.topology.node_of(target);
}

RouteId NcclFlows::route(Rank source, Rank target) const {
  const engine::Topology& topology = environment_.topology;
  const engine::GpuId from = topology.gpu_of(source);
  const engine::GpuId to = topology.gpu_of(target);
  if (is_local(source, target)) return environment_.nvlink_route(from, to);
  return environment_.wire_route(topology.nics_of(from).front(), topology.nics_of(to).front());
}

BytesPerSecond NcclFlows::rate(Rank source, Rank target, int channels, double share) const {
  const NcclConstants& nccl = environment_.constants;
  const Bytes slice = is_local(source, target) ? nccl.nvlink_step : nccl.net_step;
  const Seconds time = nccl.step_overhead + slice / nccl.channel_copy_rate;
  return (slice / time) * (channels * share);
}

Seconds NcclFlows::step_latency(Rank source, Rank target) const {
  // Steps of a slice are in the rate; between nodes it waits for the proxies and the wire as well.
  if (is_local(source, target)) return Seconds(0.0);
  return 2.0 * environment_.constants.flag_latency + environment_.queue_pair.one_way_latency;
}

std::shared_ptr<engine::Work> NcclFlowRank::enqueue(std::span<const SendRecvRequest> messages,
                                                    engine::StreamId stream) {
  return flows_.launch(group_, rank_,
                       {.kind = Kind::kMessages, .messages = {messages.begin(), messages.end()}},
                       stream);
}

std::shared_ptr<engine::Work> NcclFlowRank::enqueue(const engine::CollectiveRequest& request,
                                                    engine::StreamId stream) {
  const bool gathers = request.pattern.name == engine::kAllGatherName;
  HOCCL_CHECK(gathers || request.pattern.name == engine::kAllToAllName, "{} as one flow per hop",
              request.pattern.name);
  return flows_.launch(
      group_, rank_,
      {.kind = gathers ? Kind::kAllGather : Kind::kAllToAll, .size = request.pattern.size}, stream);
}

std::shared_ptr<engine::Work> NcclFlowRank::reduce_scatter(Bytes size, engine::StreamId stream) {
  return flows_.launch(group_, rank_, {.kind = Kind::kReduceScatter, .size = size}, stream);
}

std::shared_ptr<engine::Work> NcclFlowRank::all_reduce(Bytes size, engine::StreamId stream) {
  return flows_.launch(group_, rank_, {.kind = Kind::kAllReduce, .size = size}, stream);
}

}  // namespace hoccl::sim
