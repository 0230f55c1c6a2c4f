#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/fabric.h"
#include "engine/topology/topology.h"
#include "engine/trace/trace.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/fabric/hw_options.h"
#include "hw/proof/zero_sm_verdict.h"

namespace hoccl::hw {

class HwPort;

/// One rank of a job on real threads and real memory: a copy engine and a link behind the seam.
/// The other ranks live in other processes, or (in tests) in other HwFabrics of this process.
class HwFabric final : public engine::Fabric {
 public:
  /// Collective over all ranks of the job. Throws ConfigError when the topology and the options do
  /// not fit, BootstrapError when a rank is missing.
  HwFabric(std::unique_ptr<Bootstrap> bootstrap, engine::Topology topology,
           const HwOptions& options);
  /// Stops all threads. Others must not need this rank as a relay any more: see
  /// Bootstrap::barrier().
  ~HwFabric() override;

  [[nodiscard]] engine::Viability viability() const override;
  /// Only this process's own rank.
  engine::Port& port(engine::Rank rank) override;
  [[nodiscard]] engine::Rank rank() const;
  [[nodiscard]] const engine::Topology& topology() const;
  [[nodiscard]] Bootstrap& bootstrap();

  /// Memory of the GPU that other ranks of the node can map, zeroed.
  engine::BufferHandle allocate(engine::Bytes size);
  /// Names part of this process's memory. It can be exported if it lies in memory of allocate(), or
  /// of the GPU and CUDA IPC can hand it on; else what other ranks of the node send into it needs a
  /// third place there to go through.
  engine::BufferHandle register_buffer(std::span<std::byte> memory);
  /// Ends the name, and with the last name of an allocate() the memory; importers drop their
  /// mapping. No operation may be using it.
  void release(engine::BufferHandle buffer);
  /// Of this rank's own buffers, and of the slots of every place, where the CPU can reach them: not
  /// in memory of a GPU.
  [[nodiscard]] std::span<std::byte> bytes(const engine::Region& region);
  /// The same wherever they are, and slower. Nobody else may be using them.
  void read(std::span<std::byte> to, const engine::Region& region);
  void write(const engine::Region& region, std::span<const std::byte> from);
  /// Records what the GPU does for this process from now on. Copies are then handed over one by
  /// one, because CUPTI keeps no record of batches (driver 580.159, CUPTI 13.0).
  void start_recording();
  /// What it has done; all of it must have ended. Of ranks that are threads of one process the last
  /// one to ask is told of all.
  ZeroSmVerdict stop_recording();
  /// What plays the GPU, for people.
  [[nodiscard]] std::string device_description() const;

  /// The streams, as the application sees them. From any thread.
  void enqueue_callback(engine::StreamId stream, std::function<void()> callback);
  /// Blocks until the stream has done all that was enqueued.
  void synchronize(engine::StreamId stream);
  /// When the proxy ended this rank's latest operation (monotonic_now()), just before it let the
  /// stream go on; none: it has ended none. For a thread that slept meanwhile.
  [[nodiscard]] std::optional<engine::Seconds> finished_at() const;
  /// Throws CudaError when the stream's GPU has failed: what waits in the stream never ends then.
  void require_healthy(engine::StreamId stream);

  /// Lets the link go on with what is under way, as a proxy's poll() would. Only while no proxy
  /// polls.
  void progress();
  /// For people: the NICs, and how they reach the slots; empty for links without any.
  [[nodiscard]] std::string link_description() const;
  /// For tests of failures: from the proxy's next step on, the index-th connected queue pair of
  /// this rank (modulo their number) is in error.
  void break_queue_pair(std::uint64_t index);
  /// Nothing of this rank is under way any more, so that without new calls nothing happens; streams
  /// that wait at a gate and completions that wait to be polled do not count. For tests: all ranks
  /// must be asked, twice in a row.
  [[nodiscard]] bool idle() const;
  /// Legs are recorded from now on; the sink is called from several threads, one at a time. Null
  /// ends it.
  void record_trace(engine::TraceSink* sink);

 private:
  friend class ProxyThread;
  HwPort& own_port();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoccl::hw
