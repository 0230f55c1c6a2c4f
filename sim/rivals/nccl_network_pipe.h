#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "engine/base/ids.h"
#include "sim/machine/cpu.h"
#include "sim/machine/queue_pair.h"
#include "sim/rivals/nccl_environment.h"
#include "sim/rivals/nccl_pipe.h"

namespace hoccl::sim {

/// Between nodes (NCCL 2.30, src/transport/net.cc): the sender's SM copies into a FIFO in its own
/// GPU's memory, its CPU proxy posts one RDMA write per step once the receiver has announced a free
/// slot, the receiver's proxy passes the arrival to its SM, which copies out of the FIFO there.
class NcclNetworkPipe : public NcclPipe, private WriteObserver {
 public:
  struct Ends {
    engine::NicId source_nic;
    engine::NicId target_nic;
    engine::Rank source;
    engine::Rank target;
    CpuClock& source_proxy;
    CpuClock& target_proxy;
    engine::Seconds& submit_time;  ///< the source proxy's share spent on posting
    engine::Bytes step;            ///< of one write
    /// PXN: the FIFO, the proxy and the NIC are those of a GPU beside the sender's, into whose
    /// memory the sender's SM copies over these links. None: of the sender's own.
    std::optional<RouteId> to_relay = {};
  };
  NcclNetworkPipe(const NcclEnvironment& environment, const Ends& ends);

  [[nodiscard]] std::optional<RouteId> copy_route(bool sending) const override {
    return sending ? ends_.to_relay : std::nullopt;
  }

 private:
  void on_written(engine::Bytes size) override;
  void on_drained() override;
  void written(const WriteInterval& interval) override;

  // Source side.
  void step_seen();
  void try_post();
  void post();
  void completed();
  void slot_reusable();
  void announced();
  // Target side.
  void arrived(std::uint64_t size);
  void arrival_seen(std::uint64_t size);
  void drain_seen();
  void announce();
  void failed();

  /// A step costs a proxy twice: handing it over, and finding it complete.
  [[nodiscard]] engine::Seconds half_step() const { return environment_.constants.proxy_step / 2; }

  const NcclEnvironment& environment_;
  Ends ends_;
  RouteId route_;
  QueuePair queue_pair_;
  std::deque<engine::Bytes> written_;  ///< by the SM, flag not yet seen by the proxy
  std::deque<engine::Bytes> waiting_;  ///< for an announced slot
  std::deque<engine::Bytes> posting_;  ///< the proxy is at it
  std::int64_t announced_slots_;
};

}  // namespace hoccl::sim
