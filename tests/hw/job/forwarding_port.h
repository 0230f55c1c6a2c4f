#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/fabric.h"

namespace hoccl::hw {

/// Does what another port does; a test overrides what it is interested in.
class ForwardingPort : public engine::Port {
 public:
  explicit ForwardingPort(engine::Port& port) : port_(port) {}

  [[nodiscard]] engine::Rank rank() const override { return port_.rank(); }
  [[nodiscard]] const engine::Topology& topology() const override { return port_.topology(); }
  [[nodiscard]] engine::Seconds now() const override { return port_.now(); }

  engine::Ticket post_copy(engine::Lane lane, const engine::CopyRequest& request) override {
    return port_.post_copy(lane, request);
  }
  void flush() override { port_.flush(); }
  engine::Ticket post_write(engine::QueuePairId queue_pair,
                            const engine::WriteRequest& request) override {
    return port_.post_write(queue_pair, request);
  }
  void post_message(engine::Rank target, const engine::Message& message) override {
    port_.post_message(target, message);
  }
  engine::QueuePairId queue_pair(engine::NicId local, engine::NicId remote, engine::Rank peer,
                                 int index) override {
    return port_.queue_pair(local, remote, peer, index);
  }
  [[nodiscard]] const engine::StagingPlace& staging(engine::PlaceId place) const override {
    return port_.staging(place);
  }
  void export_buffer(engine::BufferHandle buffer) override { port_.export_buffer(buffer); }
  void register_buffer(engine::BufferHandle buffer) override { port_.register_buffer(buffer); }
  void import_buffer(engine::BufferHandle buffer) override { port_.import_buffer(buffer); }
  void open_gate(engine::Gate gate, engine::Sequence sequence) override {
    port_.open_gate(gate, sequence);
  }
  void finish(engine::WorkId work, const engine::Status& status) override {
    port_.finish(work, status);
  }
  std::size_t poll(std::span<engine::Completion> out) override { return port_.poll(out); }
  void account(engine::CpuWork work, std::int64_t count) override { port_.account(work, count); }
  void report_copies(engine::GpuId gpu, engine::LinkSide side, int under_way) override {
    port_.report_copies(gpu, side, under_way);
  }
  [[nodiscard]] int copies_under_way(engine::GpuId gpu, engine::LinkSide side) const override {
    return port_.copies_under_way(gpu, side);
  }

  void enqueue_ready(engine::Gate gate, engine::Sequence sequence) override {
    port_.enqueue_ready(gate, sequence);
  }
  void enqueue_wait(engine::Gate gate, engine::Sequence sequence) override {
    port_.enqueue_wait(gate, sequence);
  }
  void enqueue_foreground(engine::StreamId stream, bool active) override {
    port_.enqueue_foreground(stream, active);
  }
  void submit(std::shared_ptr<const engine::Command> command) override {
    port_.submit(std::move(command));
  }
  [[nodiscard]] std::optional<engine::Status> query(engine::WorkId work) const override {
    return port_.query(work);
  }

 private:
  engine::Port& port_;
};

}  // namespace hoccl::hw
