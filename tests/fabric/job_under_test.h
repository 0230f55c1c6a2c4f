#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/collective_system.h"
#include "engine/fabric.h"
#include "engine/schedule/plan.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// One operation or group that a rank of a JobUnderTest has enqueued.
struct WorkReference {
  Rank rank;
  int index = -1;
};

/// A job of real proxies, one per rank, wherever its ranks live: on a fabric of this process, on
/// threads or in processes of their own. Scenarios speak to it only, so they are written once.
class JobUnderTest {
 public:
  /// Two communicators over all ranks: operations of one are matched in order, of two they are not.
  static constexpr int kCommunicators = 2;

  virtual ~JobUnderTest() = default;

  [[nodiscard]] virtual const Topology& topology() const = 0;
  /// A user buffer in the memory of the rank's GPU.
  virtual BufferHandle allocate(Rank owner, Bytes size) = 0;
  /// Fills a region with a pattern that tells `message` and position. Nothing without memory.
  virtual void fill(const Region& region, std::uint64_t message) = 0;
  /// Whether the region holds that pattern from its first byte on; true without memory.
  [[nodiscard]] virtual bool holds(const Region& region, std::uint64_t message) = 0;

  /// One group of sends and receives on a stream of the rank.
  virtual WorkReference enqueue(Rank rank, int communicator,
                                const std::vector<SendRecvRequest>& group, StreamId stream) = 0;
  /// The rank's share of a plan.
  virtual WorkReference run_plan(Rank rank, int communicator,
                                 const std::shared_ptr<const Plan>& plan, const Region& send_buffer,
                                 const Region& receive_buffer, StreamId stream) = 0;
  /// Computation of the application on the stream.
  virtual void delay(Rank rank, StreamId stream, Seconds time) = 0;
  virtual void abort(Rank rank, int communicator) = 0;
  [[nodiscard]] virtual std::optional<Status> status(const WorkReference& work) = 0;

  /// Lets everything happen that was enqueued.
  virtual void run() = 0;
  /// No proxy has anything in flight or unfinished.
  [[nodiscard]] virtual bool quiescent() = 0;
};

}  // namespace hoccl::engine
