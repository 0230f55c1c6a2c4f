#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/fabric.h"
#include "tests/support/ideal_lane.h"
#include "tests/support/ideal_queue_pair.h"
#include "tests/support/ideal_world.h"

namespace hoccl::engine {

/// One rank's side of an IdealFabric.
class IdealPort final : public Port {
 public:
  IdealPort(IdealWorld& world, Rank rank) : world_(world), rank_(rank) {}

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] const Topology& topology() const override { return world_.topology; }
  [[nodiscard]] Seconds now() const override { return world_.events.now(); }

  Ticket post_copy(Lane lane, const CopyRequest& request) override;
  void flush() override;
  Ticket post_write(QueuePairId queue_pair, const WriteRequest& request) override;
  void post_message(Rank target, const Message& message) override;
  QueuePairId queue_pair(NicId local, NicId remote, Rank peer, int index) override;
  [[nodiscard]] const StagingPlace& staging(PlaceId place) const override;
  void export_buffer(BufferHandle buffer) override;
  void register_buffer(BufferHandle buffer) override;
  void import_buffer(BufferHandle buffer) override;
  void open_gate(Gate gate, Sequence sequence) override;
  void finish(WorkId work, const Status& status) override;
  std::size_t poll(std::span<Completion> out) override;
  void account(CpuWork work, std::int64_t count) override;
  void report_copies(GpuId gpu, LinkSide side, int under_way) override;
  [[nodiscard]] int copies_under_way(GpuId gpu, LinkSide side) const override;

  void enqueue_ready(Gate gate, Sequence sequence) override;
  void enqueue_wait(Gate gate, Sequence sequence) override;
  void enqueue_foreground(StreamId stream, bool active) override;
  void submit(std::shared_ptr<const Command> command) override;
  [[nodiscard]] std::optional<Status> query(WorkId work) const override;

  // --- for the fabric and its parts ---

  /// Something happened; the proxy will be woken for it.
  void push(Completion completion);
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  /// poll() returns at most this many more, as if the rest were not visible yet.
  void limit_polls(std::optional<std::size_t> budget) { budget_ = budget; }
  /// Something was pushed since the last call.
  [[nodiscard]] bool take_wake() { return std::exchange(wake_, false); }
  [[nodiscard]] bool dead() const { return dead_; }
  void die();
  /// The rank's transfers touch no memory from now on, and the others are told.
  void report_lost();
  [[nodiscard]] std::int64_t accounted(CpuWork work) const;

 private:
  void check_alive() const;
  bool coalesce(const Completion& completion);
  void polled(const Completion& completion);
  void check_message(const Completion& completion) const;

  IdealWorld& world_;
  Rank rank_;
  bool dead_ = false;
  std::map<Lane, IdealLane> lanes_;
  std::vector<std::unique_ptr<IdealQueuePair>> queue_pairs_;
  std::map<std::tuple<NicId, NicId, Rank, int>, QueuePairId> queue_pair_ids_;
  std::map<Rank, EventQueue::Channel> messages_;  // by target
  EventQueue::Channel mailbox_;
  std::map<WorkId, Status> finished_;
  std::map<CpuWork, std::int64_t> accounted_;
  std::deque<Completion> pending_;
  std::optional<std::size_t> budget_;
  bool wake_ = false;
};

}  // namespace hoccl::engine
