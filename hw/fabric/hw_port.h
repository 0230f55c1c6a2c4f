#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "engine/fabric.h"
#include "engine/schedule/verifier.h"
#include "engine/topology/topology.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/copy/copy_engine.h"
#include "hw/device/device.h"
#include "hw/fabric/hw_options.h"
#include "hw/fabric/proxy_work.h"
#include "hw/link/link.h"
#include "hw/node/copy_board.h"
#include "hw/node/foreground_board.h"
#include "hw/node/node.h"
#include "hw/stream/streams.h"
#include "hw/system/monotonic_clock.h"
#include "hw/trace/leg_trace.h"

namespace hoccl::hw {

/// The seam of one rank on real threads. The proxy's side is one thread's; the application's side
/// is any thread's.
class HwPort final : public engine::Port {
 public:
  /// Collective over all ranks.
  HwPort(Bootstrap& bootstrap, const engine::Topology& topology, const HwOptions& options);
  ~HwPort() override;

  [[nodiscard]] engine::Rank rank() const override { return rank_; }
  [[nodiscard]] const engine::Topology& topology() const override { return topology_; }
  /// As of the first poll() of the step: the proxy asks several times a step, and a step is short.
  [[nodiscard]] engine::Seconds now() const override {
    return engine::Seconds(polled_at_.load(std::memory_order_relaxed));
  }

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
  void report_copies(engine::GpuId gpu, engine::LinkSide side, int under_way) override {
    copy_board_->report(gpu, side, under_way);
  }
  [[nodiscard]] int copies_under_way(engine::GpuId gpu, engine::LinkSide side) const override {
    return copy_board_->under_way(gpu, side);
  }

  void enqueue_ready(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_wait(engine::Gate gate, engine::Sequence sequence) override;
  void enqueue_foreground(engine::StreamId stream, bool active) override;
  void submit(std::shared_ptr<const engine::Command> command) override;
  [[nodiscard]] std::optional<engine::Status> query(engine::WorkId work) const override;

  /// When finish() was called last (monotonic_now()); none: never.
  [[nodiscard]] std::optional<engine::Seconds> finished_at() const;

  [[nodiscard]] Doorbell& doorbell() const { return node_->doorbell(); }
  [[nodiscard]] Node& node() { return *node_; }
  [[nodiscard]] Device& device() { return *device_; }
  [[nodiscard]] CopyEngine& copies() { return *copies_; }
  [[nodiscard]] Streams& streams() { return *streams_; }
  [[nodiscard]] LegTrace& trace() { return trace_; }
  /// Nothing is under way; see HwFabric::idle().
  [[nodiscard]] bool idle() const;
  /// Something may happen without a bell: whoever waits must go on polling.
  [[nodiscard]] bool must_be_polled() const;
  /// CPU time of the polling thread in post_copy, flush and post_write.
  [[nodiscard]] engine::Seconds submit_time() const;
  /// Grows with everything the polling thread posts or hears.
  [[nodiscard]] std::int64_t activity() const { return activity_; }
  /// Polling thread: whether poll() has something of the link.
  [[nodiscard]] bool look_at_link() { return link_->look(); }
  /// Polling thread, before it sleeps: from now on what the link has rings the doorbell. Returns
  /// whether it has something.
  [[nodiscard]] bool arm_link() { return link_->arm(); }
  [[nodiscard]] Link& link() { return *link_; }
  /// See HwFabric.
  void break_queue_pair(std::uint64_t index);
  /// All of it so far. Polling thread.
  [[nodiscard]] const ProxyWork& work() const { return work_; }

 private:
  class SubmitClock;

  /// Into the mailbox; tell() also wakes the proxy.
  void put(engine::Completion completion);
  void tell(engine::Completion completion);
  void lost(engine::Rank peer, bool died);
  [[nodiscard]] engine::PlaceId place_of(const engine::Region& region) const;
  std::size_t gather(std::span<engine::Completion> out);
  std::size_t take_mailbox(std::span<engine::Completion> out);
  // Each fills in the next one of its kind; false when there is none.
  bool next_foreground(engine::Completion& out);
  bool next_from_link(engine::Completion& out);
  bool next_from_lost_peers(engine::Completion& out);
  /// The node's parts forget a peer that can touch memory no more.
  void forget(engine::Rank peer, engine::Completion& out);
  bool next_record(engine::Completion& out);
  bool accept(engine::Rank sender, const Record& record, engine::Completion& out);
  void expel(engine::Rank peer, const std::string& why);

  const engine::Rank rank_;
  const engine::Topology& topology_;
  const engine::SlotSupply slots_;
  LegTrace trace_;
  std::mutex mailbox_mutex_;
  std::deque<engine::Completion> mailbox_;  ///< what other threads tell the proxy
  std::deque<engine::Rank> newly_lost_;     ///< under mailbox_mutex_
  std::atomic<std::size_t> letters_{0};     ///< in both; to be looked at without the mutex
  std::set<engine::Rank> lost_;             ///< of the polling thread
  mutable std::mutex finished_mutex_;
  std::map<engine::WorkId, engine::Status> finished_;
  std::optional<engine::Seconds> finished_at_;
  std::atomic<std::int64_t> to_be_broken_{-1};  ///< a queue pair; none: negative
  bool foreground_reported_ = false;
  std::atomic<double> submit_seconds_{0.0};
  std::atomic<double> polled_at_{monotonic_now().count()};
  bool filled_ = false;        ///< the last poll() had no room left; of the polling thread
  std::int64_t activity_ = 0;  ///< of the polling thread
  ProxyWork work_;             ///< of the polling thread
  /// Rings of the doorbell at a look that found all that had been told before it; none: the last
  /// look had no room for all. Of the polling thread.
  std::optional<std::uint32_t> heard_;
  const std::unique_ptr<Device> device_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<ForegroundBoard> foreground_;
  std::unique_ptr<CopyBoard> copy_board_;
  // These call back into what is above from threads of their own, so they end first. Streams before
  // copies: a GPU's copy engine gives memory back, which waits for streams that stand at gates.
  std::unique_ptr<CopyEngine> copies_;
  std::unique_ptr<Streams> streams_;
  std::unique_ptr<Link> link_;
};

}  // namespace hoccl::hw
