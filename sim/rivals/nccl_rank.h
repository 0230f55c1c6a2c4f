#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/collective_system.h"
#include "sim/machine/cpu.h"
#include "sim/rivals/nccl_environment.h"
#include "sim/rivals/nccl_kernel.h"
#include "sim/rivals/nccl_pipe.h"
#include "sim/rivals/sm_pool.h"

namespace hoccl::sim {

/// What all ranks of one NCCL communicator share: connections, proxies, and the SMs they hold.
class NcclJob {
 public:
  /// `channel_limit` channels at most per transfer, NCCL_MAX_NCHANNELS = NCCL_MIN_NCHANNELS =
  /// NCCL_NCHANNELS_PER_NET_PEER. The topology must pass require_nccl_topology().
  NcclJob(NcclEnvironment environment, int channel_limit);

  [[nodiscard]] SmPool& sms() { return sms_; }
  [[nodiscard]] const SmPool& sms() const { return sms_; }
  /// CPU time of the rank's one progress thread.
  [[nodiscard]] engine::Seconds proxy_time(engine::Rank rank) const;
  /// CPU time of the rank's launching thread.
  [[nodiscard]] engine::Seconds launch_time(engine::Rank rank) const;
  /// CPU time of posting RDMA writes whose source is the rank.
  [[nodiscard]] engine::Seconds submit_time(engine::Rank rank) const;

 private:
  friend class NcclSendRecv;

  NcclPipe& pipe(engine::Rank source, engine::Rank target, int channel);
  void add_parts(NcclKernel& kernel, engine::Rank rank, const engine::SendRecvRequest& request);

  NcclEnvironment environment_;
  int channel_limit_;
  SmPool sms_;
  std::vector<CpuClock> proxies_;              ///< by rank
  std::vector<CpuClock> launchers_;            ///< by rank
  std::vector<engine::Seconds> submit_times_;  ///< by source rank
  std::map<std::tuple<engine::Rank, engine::Rank, int>, std::unique_ptr<NcclPipe>> pipes_;
};

/// `nccl:<k>sm`: NCCL's kernel-driven send and receive as one rank sees it. Every group is one
/// kernel on the stream; kernels of a rank run in the order in which they were enqueued, as NCCL
/// makes them do.
class NcclSendRecv : public engine::CollectiveSystem {
 public:
  NcclSendRecv(NcclJob& job, engine::Rank rank) : job_(job), rank_(rank) {}
  NcclSendRecv(const NcclSendRecv&) = delete;
  NcclSendRecv& operator=(const NcclSendRecv&) = delete;

  std::shared_ptr<engine::Work> enqueue(std::span<const engine::SendRecvRequest> group,
                                        engine::StreamId stream) override;
  /// None are modelled yet: require_runnable refuses them before anything starts.
  std::shared_ptr<engine::Work> enqueue(const engine::CollectiveRequest& request,
                                        engine::StreamId stream) override;

 private:
  struct Launch;

  void enqueue_on_stream(std::uint64_t launch);
  void stream_arrived(std::uint64_t launch);
  void begin_front();
  void start_front();
  void front_ended();
  void record(const Launch& launch) const;

  NcclJob& job_;
  engine::Rank rank_;
  std::deque<std::shared_ptr<Launch>> launches_;  ///< not ended, in order
  std::uint64_t first_launch_ = 0;                ///< number of launches_.front()
  std::shared_ptr<Launch> last_ended_;  ///< kept until the next ends: its warps are on the stack
};

/// Throws ConfigError where NCCL does not run: several ranks on one physical GPU, a GPU without NIC
/// in a cluster, NICs that move nothing.
void require_nccl_topology(const engine::Topology& topology);

/// Whether the text begins like "nccl:<k>sm".
bool is_nccl_system(std::string_view system);
/// The k of "nccl:<k>sm"; throws ConfigError "system = TEXT: expected ...".
int parse_nccl_channels(std::string_view system);

}  // namespace hoccl::sim
