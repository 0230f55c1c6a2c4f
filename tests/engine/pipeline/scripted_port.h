#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "engine/fabric.h"
#include "engine/topology/topology.h"

namespace hoccl::engine {

/// A Port that records what was asked of it and reports what a test puts into `inbox`.
class ScriptedPort final : public Port {
 public:
  explicit ScriptedPort(Rank rank = Rank(0));

  struct PostedCopy {
    Lane lane;
    CopyRequest request;
    bool flushed = false;
  };

  std::vector<PostedCopy> copies;
  std::vector<WriteRequest> writes;
  std::vector<std::pair<Rank, Message>> messages;
  std::vector<std::pair<Gate, Sequence>> opened;
  std::vector<std::pair<WorkId, Status>> finished;
  std::vector<Completion> inbox;
  int flushes = 0;
  Seconds time{0.0};

  [[nodiscard]] Rank rank() const override { return rank_; }
  [[nodiscard]] const Topology& topology() const override { return topology_; }
  [[nodiscard]] Seconds now() const override { return time; }
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
  void account(CpuWork, std::int64_t) override {}
  void report_copies(GpuId, LinkSide, int) override {}
  [[nodiscard]] int copies_under_way(GpuId, LinkSide) const override { return 0; }
  void enqueue_ready(Gate, Sequence) override {}
  void enqueue_wait(Gate, Sequence) override {}
  void enqueue_foreground(StreamId, bool) override {}
  void submit(std::shared_ptr<const Command>) override {}
  [[nodiscard]] std::optional<Status> query(WorkId) const override { return std::nullopt; }

 private:
  Rank rank_;
  Topology topology_;
  std::vector<StagingPlace> places_;
  std::map<Lane, std::int64_t> lane_tickets_;
  std::map<QueuePairId, std::int64_t> write_tickets_;
};

}  // namespace hoccl::engine
