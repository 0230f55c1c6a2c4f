#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/proxy.h"
#include "engine/topology/topology.h"
#include "engine/trace/trace.h"
#include "sim/calibration/calibration.h"
#include "sim/fabric/cpu_account.h"
#include "sim/fabric/link_map.h"
#include "sim/fabric/world.h"
#include "sim/machine/clock.h"
#include "sim/machine/gpu_stream.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

class SimPort;

struct SimOptions {
  NetworkKind network = NetworkKind::kFluid;
  /// Send slots and, apart from them, receive slots of every staging place.
  std::int32_t slots = 16;
  engine::Bytes slot_size{4 << 20};
  /// All ranks are threads of one process, whose calls of the GPU driver take turns.
  bool one_process = false;
  /// Receives every event if not null; must outlive the fabric.
  engine::TraceSink* trace = nullptr;
};

/// A port of the machine and what went over it.
struct LinkUse {
  std::string name;  ///< "gpu 3 nvlink out", "nic 1 send", ...
  engine::BytesPerSecond capacity;
  engine::Bytes carried;
};

/// All ranks of a topology in one process, in virtual time that starts at 0. Deterministic. One per
/// process, because SimGrid keeps global state.
class SimFabric : public engine::Fabric {
 public:
  /// `topology` must outlive the fabric.
  SimFabric(const engine::Topology& topology, const Calibration& calibration,
            const SimOptions& options);
  ~SimFabric() override;

  [[nodiscard]] engine::Viability viability() const override;
  engine::Port& port(engine::Rank rank) override;
  SimPort& sim_port(engine::Rank rank);

  /// A user buffer in the rank's GPU memory; no memory is behind it.
  engine::BufferHandle allocate(engine::Rank rank, engine::Bytes size);

  /// Lets the proxies (by rank) work until nothing is left to happen; returns that time. May be
  /// called again after more was submitted, with the same proxies.
  engine::Seconds run(std::span<engine::Proxy* const> proxies);
  /// The same for ports that are driven by hand.
  engine::Seconds run();
  /// Up to and including `time`; then now() is `time`.
  void run_until(engine::Seconds time);
  [[nodiscard]] engine::Seconds now() const;

  /// A kernel of the application in stream order.
  void enqueue_kernel(engine::Rank rank, engine::StreamId stream, engine::Seconds duration);
  /// When the stream's last gate or kernel ended: after run(), when it became idle.
  [[nodiscard]] engine::Seconds stream_idle_since(engine::Rank rank, engine::StreamId stream);
  /// When this rank's latest operation ended; none: its proxy has ended none.
  [[nodiscard]] std::optional<engine::Seconds> finished_at(engine::Rank rank) const;

  /// What the rank's proxy spent its core's time on.
  [[nodiscard]] const CpuAccount& proxy_time(engine::Rank rank) const;
  /// CPU time of posting the copies and writes of operations whose source is `rank`, wherever the
  /// write was posted: the paper's launch cost (Fig. 9). Taken from OperationId::source, so for
  /// point-to-point operations of communicators whose ranks are the job's; of collectives, each
  /// rank's own posts. The target's deliver copies are not in it.
  [[nodiscard]] engine::Seconds submit_time(engine::Rank rank) const;
  /// The application's time in submit and enqueue calls of the rank.
  [[nodiscard]] engine::Seconds launch_time(engine::Rank rank) const;
  [[nodiscard]] std::vector<LinkUse> link_use() const;
  /// Time with at least one copy in set-up or transfer.
  [[nodiscard]] engine::Seconds copy_engine_busy(engine::Rank rank, engine::CopyClass engine);

  /// At `time` every queue pair over this NIC breaks: writes not yet sent end with an error, and so
  /// does every later one.
  void fail_writes(engine::NicId nic, engine::Seconds time);
  /// At `time` the rank's proxy stops for good, and every other rank is told.
  void lose_rank(engine::Rank rank, engine::Seconds time);

  // For models that use the machine directly.
  Clock& clock() { return world_->clock; }
  Network& network() { return *world_->network; }
  [[nodiscard]] const LinkMap& links() const { return world_->links; }
  [[nodiscard]] const Calibration& calibration() const { return world_->calibration; }
  [[nodiscard]] const engine::Topology& topology() const { return world_->topology; }
  [[nodiscard]] engine::TraceSink* trace() const { return world_->trace; }
  GpuStream& gpu_stream(engine::Rank rank, engine::StreamId stream);

 private:
  void add_staging(const SimOptions& options);
  void fail_nic(std::uint64_t nic);
  void rank_lost(std::uint64_t rank);

  std::unique_ptr<World> world_;
  std::vector<std::unique_ptr<SimPort>> ports_;
};

}  // namespace hoccl::sim
