#pragma once

#include <memory>
#include <optional>
#include <span>

#include "engine/fabric.h"

namespace hoccl::engine {

/// Does what another port does; who derives from it overrides what it is interested in.
class ForwardingPort : public Port {
 public:
  explicit ForwardingPort(Port& port) : port_(port) {}

  [[nodiscard]] Rank rank() const override { return port_.rank(); }
  [[nodiscard]] const Topology& topology() const override { return port_.topology(); }
  [[nodiscard]] Seconds now() const override { return port_.now(); }

  Ticket post_copy(Lane lane, const CopyRequest& request) override {
    return port_.post_copy(lane, request);
  }
  void flush() override { port_.flush(); }
  Ticket post_write(QueuePairId queue_pair, const WriteRequest& request) override {
    return port_.post_write(queue_pair, request);
  }
  void post_message(Rank target, const Message& message) override {
    port_.post_message(target, message);
  }
  QueuePairId queue_pair(NicId local, NicId remote, Rank peer, int index) override {
    return port_.queue_pair(local, remote, peer, index);
  }
  [[nodiscard]] const StagingPlace& staging(PlaceId place) const override {
    return port_.staging(place);
  }
  void export_buffer(BufferHandle buffer) override { port_.export_buffer(buffer); }
  void register_buffer(BufferHandle buffer) override { port_.register_buffer(buffer); }
  void import_buffer(BufferHandle buffer) override { port_.import_buffer(buffer); }
  void open_gate(Gate gate, Sequence sequence) override { port_.open_gate(gate, sequence); }
  void finish(WorkId work, const Status& status) override { port_.finish(work, status); }
  std::size_t poll(std::span<Completion> out) override { return port_.poll(out); }
  void account(CpuWork work, std::int64_t count) override { port_.account(work, count); }
  void report_copies(GpuId gpu, LinkSide side, int under_way) override {
    port_.report_copies(gpu, side, under_way);
  }
  [[nodiscard]] int copies_under_way(GpuId gpu, LinkSide side) const override {
    return port_.copies_under_way(gpu, side);
  }

  void enqueue_ready(Gate gate, Sequence sequence) override { port_.enqueue_ready(gate, sequence); }
  void enqueue_wait(Gate gate, Sequence sequence) override { port_.enqueue_wait(gate, sequence); }
  void enqueue_foreground(StreamId stream, bool active) override {
    port_.enqueue_foreground(stream, active);
  }
  void submit(std::shared_ptr<const Command> command) override { port_.submit(std::move(command)); }
  [[nodiscard]] std::optional<Status> query(WorkId work) const override {
    return port_.query(work);
  }

 private:
  Port& port_;
};

}  // namespace hoccl::engine
