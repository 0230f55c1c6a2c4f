#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/collective_system.h"
#include "engine/pattern/pattern.h"
#include "sim/machine/cpu.h"
#include "sim/machine/sm_pool.h"
#include "sim/rivals/nccl_environment.h"
#include "sim/rivals/nccl_kernel.h"
#include "sim/rivals/nccl_p2p_schedule.h"
#include "sim/rivals/nccl_pipe.h"
#include "sim/rivals/nccl_ring.h"

namespace hoccl::sim {

/// How NCCL was set up.
struct NcclOptions {
  /// Channels at most per transfer: NCCL_MAX_NCHANNELS = NCCL_MIN_NCHANNELS =
  /// NCCL_NCHANNELS_PER_NET_PEER.
  int channels = 1;
  /// NICs per node that rings cross: ring k begins at local rank k modulo this many. 1: all rings
  /// are one, as the paper's AllGather numbers suggest.
  int ring_nics = 1;
  /// Messages between nodes leave through the NIC of the GPU whose local index is the receiver's
  /// (NCCL_PXN_DISABLE=0, NCCL_P2P_PXN_LEVEL=2, the defaults).
  bool pxn = true;
};

/// What all ranks of one NCCL communicator share: connections, proxies, and the SMs they hold.
class NcclJob {
 public:
  /// The topology must pass require_nccl_topology().
  NcclJob(NcclEnvironment environment, const NcclOptions& options);

  [[nodiscard]] const NcclEnvironment& environment() const { return environment_; }
  [[nodiscard]] SmPool& sms() { return sms_; }
  [[nodiscard]] const SmPool& sms() const { return sms_; }
  /// CPU time of the rank's one progress thread.
  [[nodiscard]] engine::Seconds proxy_time(engine::Rank rank) const;
  /// CPU time of the rank's launching thread.
  [[nodiscard]] engine::Seconds launch_time(engine::Rank rank) const;
  /// CPU time of posting RDMA writes whose source is the rank.
  [[nodiscard]] engine::Seconds submit_time(engine::Rank rank) const;
  /// Charges one kernel launch; returns when it has been made.
  engine::Seconds launch(engine::Rank rank);

  /// The rank's sends and receives of one group, in NCCL's order.
  void add_group(NcclKernel& kernel, engine::Rank rank,
                 std::span<const engine::SendRecvRequest> requests);
  /// The rank's part of a collective: a ring, or sends and receives where NCCL has no kernel.
  void add_collective(NcclKernel& kernel, engine::Rank rank,
                      const engine::CollectiveRequest& request);
  /// `block`: bytes of each rank's block (broadcast: of the message); `members` in ascending order.
  void add_ring(NcclKernel& kernel, engine::Rank rank, NcclRingKind kind, engine::Bytes block,
                const std::vector<engine::Rank>& members, engine::Rank root);

 private:
  enum class Use : std::uint8_t { kMessages, kRing };

  NcclPipe& pipe(engine::Rank source, engine::Rank target, int channel, Use use);
  std::unique_ptr<NcclPipe> make_network_pipe(engine::Rank source, engine::Rank target, Use use);
  [[nodiscard]] std::vector<engine::Rank> ring_order(const std::vector<engine::Rank>& members,
                                                     int channel) const;
  const engine::Pattern& pattern_of(const engine::CollectiveRequest& request);

  NcclEnvironment environment_;
  NcclOptions options_;
  NcclP2pSchedule schedule_;
  SmPool sms_;
  std::vector<CpuClock> proxies_;              ///< by rank
  std::vector<CpuClock> launchers_;            ///< by rank
  std::vector<engine::Seconds> submit_times_;  ///< by source rank
  std::map<std::tuple<engine::Rank, engine::Rank, int, Use>, std::unique_ptr<NcclPipe>> pipes_;
  /// Of the collective asked for last: all its ranks ask for the same.
  std::optional<engine::PatternRequest> known_request_;
  std::shared_ptr<const engine::TrafficMatrix> known_matrix_;
  engine::Pattern known_pattern_;
};

}  // namespace hoccl::sim
