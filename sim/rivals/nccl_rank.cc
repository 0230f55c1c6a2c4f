#include "sim/rivals/nccl_send_recv.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "sim/rivals/nccl_channels.h"
#include "sim/rivals/nccl_network_pipe.h"
#include "sim/rivals/nccl_nvlink_pipe.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::ConfigError;
using engine::Rank;
using engine::SendRecvRequest;
using engine::Topology;

// MAXCHANNELS of NCCL 2.30 (src/include/device.h).
constexpr int kMaxChannels = 64;

class NcclWork : public engine::Work {
 public:
  [[nodiscard]] std::optional<engine::Status> status() const override {
    return ended_ ? std::optional(engine::Status{}) : std::nullopt;
  }
  void set_ended() { ended_ = true; }

 private:
  bool ended_ = false;
};

}  // namespace

struct NcclSendRecv::Launch : NcclWork {
  Launch(const NcclEnvironment& environment, SmPool& sms, Rank rank, GpuStream& on)
      : kernel(environment, sms, rank), stream(on) {}

  NcclKernel kernel;
  GpuStream& stream;
  engine::StreamId stream_id;
  engine::Seconds begin{0.0};  ///< when the stream was given to it
  bool stream_is_there = false;
  bool begun = false;
};

NcclJob::NcclJob(NcclEnvironment environment, int channel_limit)
    : environment_(std::move(environment)),
      channel_limit_(channel_limit),
      sms_(environment_.topology.gpu_count()) {
  HOCCL_CHECK(channel_limit >= 1 && channel_limit <= kMaxChannels, "{} channels", channel_limit);
  require_nccl_topology(environment_.topology);
  const auto ranks = static_cast<std::size_t>(environment_.topology.rank_count());
  proxies_ = std::vector(ranks, CpuClock(environment_.clock));
  launchers_ = std::vector(ranks, CpuClock(environment_.clock));
  submit_times_.assign(ranks, engine::Seconds(0.0));
}

engine::Seconds NcclJob::proxy_time(Rank rank) const { return proxies_[rank.index()].busy_time(); }

engine::Seconds NcclJob::launch_time(Rank rank) const {
  return launchers_[rank.index()].busy_time();
}

engine::Seconds NcclJob::submit_time(Rank rank) const { return submit_times_[rank.index()]; }

NcclPipe& NcclJob::pipe(Rank source, Rank target, int channel) {
  std::unique_ptr<NcclPipe>& pipe = pipes_[{source, target, channel}];
  if (pipe != nullptr) return *pipe;
  const Topology& topology = environment_.topology;
  const engine::GpuId from = topology.gpu_of(source);
  const engine::GpuId to = topology.gpu_of(target);
  if (topology.node_of(source) == topology.node_of(target)) {
    pipe = std::make_unique<NcclNvlinkPipe>(environment_.constants,
                                            environment_.nvlink_route(from, to));
  } else {
    // NCCL keeps all channels of a peer on one NIC: the GPU's own, here the first.
    pipe = std::make_unique<NcclNetworkPipe>(
        environment_, NcclNetworkPipe::Ends{.source_nic = topology.nics_of(from).front(),
                                            .target_nic = topology.nics_of(to).front(),
                                            .source = source,
                                            .target = target,
                                            .source_proxy = proxies_[source.index()],
                                            .target_proxy = proxies_[target.index()],
                                            .submit_time = submit_times_[source.index()]});
  }
  return *pipe;
}

void NcclJob::add_parts(NcclKernel& kernel, Rank rank, const SendRecvRequest& request) {
  const bool sending = request.side == SendRecvRequest::Side::kSend;
  const Rank source = sending ? rank : request.peer;
  const Rank target = sending ? request.peer : rank;
  const NcclSplit split = split_over_channels(environment_.topology, environment_.constants,
                                              channel_limit_, source, target, request.buffer.size);
  for (std::size_t i = 0; i < split.parts.size(); ++i) {
    const int channel = (split.first_channel + static_cast<int>(i)) % channel_limit_;
    kernel.add_part(pipe(source, target, channel), channel, sending, split.parts[i]);
  }
}

std::shared_ptr<engine::Work> NcclSendRecv::enqueue(std::span<const SendRecvRequest> group,
                                                    engine::StreamId stream) {
  auto launch = std::make_shared<Launch>(job_.environment_, job_.sms_, rank_,
                                         job_.environment_.stream(rank_, stream));
  for (const SendRecvRequest& request : group) {
    HOCCL_CHECK(request.peer != rank_, "rank {} sends to itself", rank_);
    job_.add_parts(launch->kernel, rank_, request);
  }
  launch->stream_id = stream;
  launches_.push_back(launch);
  const std::uint64_t number = first_launch_ + launches_.size() - 1;
  const engine::Seconds launched =
      job_.launchers_[rank_.index()].advance(job_.environment_.constants.kernel_launch);
  job_.environment_.clock.at(launched,
                             Callback::to<&NcclSendRecv::enqueue_on_stream>(*this, number));
  return launch;
}

std::shared_ptr<engine::Work> NcclSendRecv::enqueue(const engine::CollectiveRequest& request,
                                                    engine::StreamId) {
  HOCCL_CHECK(false, "rank {}: collective {} is not modelled", rank_, request.pattern.name);
}

void NcclSendRecv::enqueue_on_stream(std::uint64_t launch) {
  launches_[launch - first_launch_]->stream.enqueue_external(
      Callback::to<&NcclSendRecv::stream_arrived>(*this, launch));
}

void NcclSendRecv::stream_arrived(std::uint64_t launch) {
  launches_[launch - first_launch_]->stream_is_there = true;
  begin_front();
}

void NcclSendRecv::begin_front() {
  if (launches_.empty() || !launches_.front()->stream_is_there || launches_.front()->begun) return;
  launches_.front()->begun = true;
  launches_.front()->begin = job_.environment_.clock.now();
  job_.environment_.clock.after(job_.environment_.constants.kernel_start,
                                Callback::to<&NcclSendRecv::start_front>(*this));
}

void NcclSendRecv::start_front() {
  launches_.front()->kernel.start(Callback::to<&NcclSendRecv::front_ended>(*this));
}

void NcclSendRecv::record(const Launch& launch) const {
  if (job_.environment_.trace == nullptr) return;
  job_.environment_.trace->record({
      .begin = launch.begin,
      .end = job_.environment_.clock.now(),
      .track = {rank_, engine::TrackKind::kStream, launch.stream_id.value()},
      .name = "nccl_kernel",
      .flow = {},
      .chunk = -1,
      .size = {},
      .operation = {},
  });
}

void NcclSendRecv::front_ended() {
  last_ended_ = launches_.front();
  last_ended_->set_ended();
  launches_.pop_front();
  ++first_launch_;
  record(*last_ended_);
  last_ended_->stream.release();
  begin_front();
}

void require_nccl_topology(const Topology& topology) {
  const auto refuse = [&](std::string_view expected) {
    throw ConfigError(
        fmt::format("system nccl: topology '{}': expected {}", topology.name(), expected));
  };
  if (topology.shared_device()) refuse("one rank per physical GPU (NCCL: duplicate GPU detected)");
  if (topology.wire() != engine::WireKind::kNic) refuse("wire legs over NICs");
  for (int rank = 0; rank < topology.rank_count() && topology.node_count() > 1; ++rank) {
    if (topology.nics_of(topology.gpu_of(Rank(rank))).empty()) refuse("a NIC next to every GPU");
  }
}

bool is_nccl_system(std::string_view system) { return system.starts_with("nccl:"); }

int parse_nccl_channels(std::string_view system) {
  constexpr std::string_view kPrefix = "nccl:";
  constexpr std::string_view kSuffix = "sm";
  std::string_view digits = system;
  int channels = 0;
  if (digits.starts_with(kPrefix) && digits.ends_with(kSuffix)) {
    digits.remove_prefix(kPrefix.size());
    digits.remove_suffix(kSuffix.size());
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), channels);
    if (error != std::errc() || end != digits.data() + digits.size()) channels = 0;
  }
  if (channels < 1 || channels > kMaxChannels) {
    throw ConfigError(fmt::format("system = '{}': expected hoccl or nccl:<k>sm with k from 1 to {}",
                                  system, kMaxChannels));
  }
  return channels;
}

}  // namespace hoccl::sim
