#include "sim/rivals/nccl_rank.h"

#include "engine/base/check.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::Rank;
using engine::SendRecvRequest;

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

struct NcclRank::Launch : NcclWork {
  Launch(const NcclEnvironment& environment, SmPool& sms, Rank rank, GpuStream& on)
      : kernel(environment, sms, rank), stream(on) {}

  NcclKernel kernel;
  GpuStream& stream;
  engine::StreamId stream_id;
  engine::Seconds begin{0.0};  ///< when the stream was given to it
  bool stream_is_there = false;
  bool begun = false;
};

std::shared_ptr<engine::Work> NcclRank::enqueue(std::span<const SendRecvRequest> group,
                                                engine::StreamId stream) {
  return launch(stream, [&](NcclKernel& kernel) { job_.add_group(kernel, rank_, group); });
}

std::shared_ptr<engine::Work> NcclRank::enqueue(const engine::CollectiveRequest& request,
                                                engine::StreamId stream) {
  return launch(stream, [&](NcclKernel& kernel) { job_.add_collective(kernel, rank_, request); });
}

std::shared_ptr<engine::Work> NcclRank::reduce_scatter(Bytes block,
                                                       const std::vector<Rank>& members,
                                                       engine::StreamId stream) {
  return launch(stream, [&](NcclKernel& kernel) {
    job_.add_ring(kernel, rank_, NcclRingKind::kReduceScatter, block, members, members.front());
  });
}

std::shared_ptr<engine::Work> NcclRank::all_reduce(Bytes size, const std::vector<Rank>& members,
                                                   engine::StreamId stream) {
  const Bytes block(chunk_count(size, Bytes(static_cast<std::int64_t>(members.size()))));
  return launch(stream, [&](NcclKernel& kernel) {
    job_.add_ring(kernel, rank_, NcclRingKind::kAllReduce, block, members, members.front());
  });
}

template <class AddWork>
std::shared_ptr<engine::Work> NcclRank::launch(engine::StreamId stream, const AddWork& add_work) {
  const NcclEnvironment& environment = job_.environment();
  auto launch =
      std::make_shared<Launch>(environment, job_.sms(), rank_, environment.stream(rank_, stream));
  add_work(launch->kernel);
  launch->stream_id = stream;
  launches_.push_back(launch);
  const std::uint64_t number = first_launch_ + launches_.size() - 1;
  environment.clock.at(job_.launch(rank_),
                       Callback::to<&NcclRank::enqueue_on_stream>(*this, number));
  return launch;
}

void NcclRank::enqueue_on_stream(std::uint64_t launch) {
  launches_[launch - first_launch_]->stream.enqueue_external(
      Callback::to<&NcclRank::stream_arrived>(*this, launch));
}

void NcclRank::stream_arrived(std::uint64_t launch) {
  launches_[launch - first_launch_]->stream_is_there = true;
  begin_front();
}

void NcclRank::begin_front() {
  if (launches_.empty() || !launches_.front()->stream_is_there || launches_.front()->begun) return;
  launches_.front()->begun = true;
  launches_.front()->begin = job_.environment().clock.now();
  job_.environment().clock.after(job_.environment().constants.kernel_start,
                                 Callback::to<&NcclRank::start_front>(*this));
}

void NcclRank::start_front() {
  launches_.front()->kernel.start(Callback::to<&NcclRank::front_ended>(*this));
}

void NcclRank::record(const Launch& launch) const {
  if (job_.environment().trace == nullptr) return;
  job_.environment().trace->record({
      .begin = launch.begin,
      .end = job_.environment().clock.now(),
      .track = {rank_, engine::TrackKind::kStream, launch.stream_id.value()},
      .name = "nccl_kernel",
      .flow = {},
      .chunk = -1,
      .size = {},
      .operation = {},
  });
}

void NcclRank::front_ended() {
  const engine::Seconds latency = job_.environment().end_latency;
  if (latency == engine::Seconds(0.0)) return stream_goes_on();
  job_.environment().clock.after(latency, Callback::to<&NcclRank::stream_goes_on>(*this));
}

void NcclRank::stream_goes_on() {
  last_ended_ = launches_.front();
  last_ended_->set_ended();
  launches_.pop_front();
  ++first_launch_;
  record(*last_ended_);
  last_ended_->stream.release();
  begin_front();
}

}  // namespace hoccl::sim
