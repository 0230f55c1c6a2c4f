#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/proxy.h"
#include "engine/topology/topology.h"
#include "tests/support/ideal_options.h"
#include "tests/support/ideal_streams.h"
#include "tests/support/ideal_world.h"

namespace hoccl::engine {

/// How IdealFabric::run() ended.
enum class RunEnd : std::uint8_t { kIdle, kTimeLimit, kStepLimit };

/// All ranks of a machine in one process, in virtual time, moving real bytes. It checks in every
/// run that nobody breaks the rules of the seam; IdealMemory and IdealLane list them.
class IdealFabric final : public Fabric {
 public:
  IdealFabric(Topology topology, const IdealOptions& options);
  ~IdealFabric() override;

  [[nodiscard]] Viability viability() const override { return {}; }
  Port& port(Rank rank) override;
  [[nodiscard]] const Topology& topology() const { return world_.topology; }
  [[nodiscard]] Seconds now() const { return world_.events.now(); }

  /// A user buffer in the memory of the rank's GPU.
  BufferHandle allocate(Rank owner, Bytes size);
  std::span<std::byte> bytes(BufferHandle buffer) { return world_.memory.bytes(buffer); }
  std::span<std::byte> bytes(const Region& region) { return world_.memory.bytes(region); }
  /// The next operation may write the buffer again.
  void reset_written(BufferHandle buffer) { world_.memory.reset_written(buffer); }

  /// Computation on the stream.
  void enqueue_delay(Rank rank, StreamId stream, Seconds time);
  /// Runs when the stream gets there.
  void enqueue_callback(Rank rank, StreamId stream, std::function<void()> callback);
  EventId enqueue_record_event(Rank rank, StreamId stream);
  void enqueue_wait_event(Rank rank, StreamId stream, EventId event);
  /// Runs at this virtual time.
  void at(Seconds time, std::function<void()> action);

  /// The rank's process ends at this time: see IdealFaults for what follows.
  void kill(Rank rank, Seconds time);

  /// Lets time pass and steps the proxies (by rank, null where there is none) whenever their port
  /// has something for them or their deadline comes; until nothing is left to happen.
  RunEnd run(std::span<Proxy* const> proxies = {});

  /// Every stream of a living rank has done all that was enqueued.
  [[nodiscard]] bool streams_drained() const;
  [[nodiscard]] bool stream_drained(Rank rank, StreamId stream) const;
  /// Names something still in flight or (where slots must be read) a slot with unread bytes; empty
  /// after a clean run.
  [[nodiscard]] std::string unfinished() const { return world_.memory.unfinished(); }
  /// Operations of which a copy or write ended with an error.
  [[nodiscard]] const std::set<OperationId>& failed_operations() const {
    return world_.failed_operations;
  }
  /// Times any proxy was stepped.
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  struct Driver {
    Proxy* proxy = nullptr;
    bool scheduled = false;
    std::optional<Seconds> deadline;
  };

  void wake_drivers();
  void schedule(std::size_t rank);
  void step(std::size_t rank);
  [[nodiscard]] bool may_step(std::size_t rank) const;
  [[nodiscard]] std::optional<std::size_t> earliest_deadline() const;

  IdealWorld world_;
  std::vector<Driver> drivers_;  // by rank
  std::int64_t steps_ = 0;
};

}  // namespace hoccl::engine
