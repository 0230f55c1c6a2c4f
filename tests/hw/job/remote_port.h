#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tests/hw/job/hw_ranks.h"

namespace hoccl::hw {

/// The port of a rank that lives elsewhere: does and polls there what is asked here.
class RemotePort final : public engine::Port {
 public:
  RemotePort(HwRanks& ranks, engine::Rank rank) : ranks_(ranks), rank_(rank) {}

  [[nodiscard]] engine::Rank rank() const override { return rank_; }
  [[nodiscard]] const engine::Topology& topology() const override {
    return ranks_.settings().topology;
  }
  [[nodiscard]] engine::Seconds now() const override;

  engine::Ticket post_copy(engine::Lane lane, const engine::CopyRequest& request) override;
  void flush() override;
  engine::Ticket post_write(engine::QueuePairId queue_pair,
                            const engine::WriteRequest& request) override;
  void post_message(engine::Rank target, const engine::Message& message) override;
  engine::QueuePairId queue_pair(engine::NicId local, engine::NicId remote, engine::Rank peer,
                                 int index) override;
  [[nodiscard]] const engine::StagingPlace& staging(engine::PlaceId place) const override;
  void export_buffer(engine::BufferHandle buffer) override;
  void register_buffer(engine::BufferHandle buffer) override;
  void import_buffer(engine::BufferHandle buffer) override;
  void open_gate(engine::Gate gate, engine::Sequence sequence) override;
  void finish(engine::WorkId work, const engine::Status& status) override;
  std::size_t poll(std::span<engine::Completion> out) override;
  void account(engine::CpuWork work, std::int64_t count) override;
  void report_copies(engine::GpuId gpu, engine::LinkSide side, int under_way) override;
  [[nodiscard]] int copies_under_way(engine::GpuId gpu, engine::LinkSide side) const override;

  void enqueue_ready(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_wait(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_foreground(engine::StreamId stream, bool active) override;
  /// Empty commands only: what comes back is recognised by its identity.
  void submit(std::shared_ptr<const engine::Command> command) override;
  [[nodiscard]] std::optional<engine::Status> query(engine::WorkId work) const override;

 private:
  HwRanks& ranks_;
  const engine::Rank rank_;
  mutable std::map<engine::PlaceId, engine::StagingPlace> places_;
  std::vector<std::shared_ptr<const engine::Command>> submitted_;
};

}  // namespace hoccl::hw
