#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/fabric.h"
#include "sim/fabric/world.h"
#include "sim/machine/queue_pair.h"

namespace hoccl::sim {

/// A queue pair of one port: the write records behind the machine's, and their trace. On a map wire
/// there is no machine behind: the slot changes owner and the other side is told.
class SimQueuePair : public WriteObserver {
 public:
  SimQueuePair(World& world, SimPort& port, engine::QueuePairId id, engine::NicId local,
               engine::NicId remote, engine::Rank peer);
  SimQueuePair(const SimQueuePair&) = delete;
  SimQueuePair& operator=(const SimQueuePair&) = delete;

  engine::Ticket post(const engine::WriteRequest& request);
  /// The connection breaks: what is queued or posted later ends with an error.
  void fail();

  [[nodiscard]] engine::NicId local() const { return local_; }
  [[nodiscard]] engine::NicId remote() const { return remote_; }

  void written(const WriteInterval& interval) override;

 private:
  struct Record {
    engine::Descriptor descriptor;
    engine::ChunkTag tag;
    std::int64_t ticket = 0;
    engine::Bytes size;
    RouteId route;
    std::uint32_t immediate = 0;
  };

  [[nodiscard]] RouteId route_of(const engine::WriteRequest& request);
  std::uint64_t take_record();
  void hand_over(const Record& record);
  void launch(std::uint64_t record);
  void arrived(std::uint64_t record);
  void completed(std::uint64_t record);
  void failed(std::uint64_t record);
  void report(std::int64_t ticket, engine::Outcome outcome, engine::Seconds time);

  World& world_;
  SimPort& port_;
  engine::QueuePairId id_;
  engine::NicId local_;
  engine::NicId remote_;
  SimPort& peer_;
  std::optional<RouteId> slot_route_;
  std::optional<RouteId> buffer_route_;
  std::unique_ptr<QueuePair> machine_;  ///< none on a map wire
  bool map_failed_ = false;
  std::int64_t last_ticket_ = 0;
  std::vector<Record> records_;  ///< recycled
  std::vector<std::uint64_t> free_records_;
};

}  // namespace hoccl::sim
