#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/pipeline/copy_candidates.h"
#include "engine/pipeline/copy_queue.h"
#include "engine/pipeline/delivery_queue.h"
#include "engine/pipeline/operation_state.h"
#include "engine/pipeline/options.h"
#include "engine/pipeline/patience.h"
#include "engine/pipeline/registered_sender.h"
#include "engine/pipeline/stage_barrier.h"

namespace hoccl::engine {

/// Moves the chunks of this rank's operations (paper §3.3): as a source it pushes them into send
/// slots (inter-node; intra-node where the target's buffer cannot be written into) or straight into
/// the target's buffer (intra-node; between nodes where both buffers are registered); as a target
/// it announces itself, then pulls landed chunks out of their slots, and passes them on where the
/// plan says so.
/// It knows the plan; the stagers do not.
class P2pExecutor {
 public:
  struct Observers {
    std::function<void(const OperationId&, const Status&)> ended;
    /// Ran into the timeout, will be ended next.
    std::function<void(std::span<const OperationId>)> stalled;
  };

  P2pExecutor(Port& port, const PipelineOptions& options, Observers observers);
  ~P2pExecutor();

  // From the stream manager.
  void add(const Operation& operation);
  void start(const OperationId& id);
  void abort(std::uint16_t communicator);

  /// Why an operation failed that is not here: not submitted yet, or ended.
  [[nodiscard]] const Status* failure_of(const OperationId& id) const;
  /// It ended before it could be added; whoever asks is told.
  void never_added(const OperationId& id, const Status& status);

  // Messages and completions, as the proxy received them.
  void ready(Rank target, const ReadyMessage& message);
  void granted(const LeaseGrantMessage& message);
  void flow_sent(const FlowMessage& message);
  void landed(const Descriptor& descriptor);
  void delivered(const FlowMessage& message);
  void failed(Rank reporter, const FailedMessage& message);
  void stopped(Rank source, const FlowMessage& message);
  void stage_done(Rank source, const StageMessage& message);
  void stage_open(const StageMessage& message);
  void exported(const BufferExported& done) { opened(Opening::kExport, done.buffer, done.ok); }
  void registered(const BufferRegistered& done);
  void imported(const BufferImported& done);
  void copied(const CopiesDone& done);
  [[nodiscard]] bool owns(QueuePairId queue_pair) const { return writes_.owns(queue_pair); }
  void written(const WritesDone& done);
  /// A chunk of a registered flow lies in our buffer.
  void arrived(const Descriptor& descriptor);
  void peer_lost(Rank peer);
  void foreground_changed(bool active) { foreground_active_ = active; }

  /// Posts copies as far as the quantum allows: deliver before stage-in before direct.
  void act();
  /// Ends operations without progress.
  void end_overdue(Seconds now);
  /// When end_overdue() or act() may have something to do although nothing happens.
  [[nodiscard]] std::optional<Seconds> next_deadline() const;

  [[nodiscard]] bool quiescent() const;
  /// Appends lines for a person.
  void describe(std::string& out) const;

 private:
  /// Copies waiting for one engine, foreground and background apart for the priority switch.
  struct EngineWork {
    CopyCandidates candidates;
    DeliveryQueue deliveries;
    [[nodiscard]] bool empty() const { return candidates.empty() && deliveries.empty(); }
  };

  // p2p_executor.cc
  OperationState* find(const OperationId& id);
  OperationState* find_with_zombies(const OperationId& id);
  /// What numbers an operation: its id without the number.
  static OperationId sequence_of(OperationId id);
  [[nodiscard]] bool has_ended(const OperationId& id) const;
  void build_flows(OperationState& state);
  void build_source(OperationState& state, const Transfer& transfer);
  void link_dependents(OperationState& state);
  void admit(OperationState& state, Rank target, const ReadyMessage& message);
  void refuse_size(const OperationId& id, Rank target);
  void queue_candidate(SourceFlow& flow);
  void queue_delivery(OperationState& state, const Descriptor& descriptor);
  void brought(const OperationId& operation, FlowId id, std::int64_t chunk);
  void flow_done(OperationState& state, const Transfer& transfer);
  void progress(OperationState& state) { state.last_progress = port_.now(); }

  // buffer_exchange.cc
  /// What lets others write into a user buffer: copy engines of its node, or NICs.
  enum class Opening : std::uint8_t { kExport, kRegister };
  /// What a fabric has said to one of our exports, registrations or imports.
  enum class Answer : std::uint8_t { kAwaited, kOk, kRefused };
  Answer open(Opening opening, BufferHandle buffer);
  void opened(Opening opening, BufferHandle buffer, bool ok);
  void announce(OperationState& state);
  bool tell_opened(OperationState& state, Rank source, Opening opening, bool ok);
  void register_sources(OperationState& state);
  void send_ready(OperationState& state, Rank source, BufferAccess access);
  bool reach(OperationState& state, Rank target, const ReadyMessage& message);
  bool relay(OperationState& state, Rank target, LinkName::Kind refused);

  // p2p_leases.cc
  void lease_at(SourceFlow& flow, PlaceId place);
  void build_segments(SourceFlow& flow);
  void want_lease(SourceFlow& flow);
  void request_leases(SourceFlow& flow);
  [[nodiscard]] bool is_held(const SourceFlow& flow, const LeaseSegment& segment) const;
  void send_lease_request(SourceFlow& flow, LeaseSegment& segment);
  void chunk_delivered(TargetFlow& flow, std::int64_t chunk);
  void chunk_available(SourceFlow& flow, std::int64_t chunk);
  void report_stage(OperationState& state);
  [[nodiscard]] std::vector<Rank> members_of(const OperationState& state) const;

  // p2p_copies.cc
  [[nodiscard]] bool can_copy(const SourceFlow& flow) const;
  void queue_leg(SourceFlow& flow);
  EngineWork& work(CopyClass copy_class, FlowClass flow_class);
  [[nodiscard]] bool anything_waits(CopyClass copy_class) const;
  bool post_next(CopyClass copy_class);
  bool post_next_foreground(CopyClass copy_class);
  [[nodiscard]] bool fills_slack(const SourceFlow& flow) const;
  [[nodiscard]] int load_of(GpuId gpu, LinkSide side) const;
  /// Where the copies of a flow go; none: host memory.
  [[nodiscard]] GpuId sink_of(const SourceFlow& flow) const;
  void count_copy(const CopyJob& job, int step);
  bool post_waiting_delivery(CopyClass copy_class, FlowClass flow_class);
  bool post_waiting_chunk(CopyClass copy_class, FlowClass flow_class);
  void post_delivery(CopyClass copy_class, const Delivery& delivery);
  void post_source_chunk(SourceFlow& flow);
  void source_copied(const CopyJob& job);
  void target_copied(const CopyJob& job);
  void copy_failed(const CopyJob& job, Lane lane);
  void return_slot(const SlotReference& slot);
  void pulled(const Descriptor& landed);

  // p2p_writes.cc
  [[nodiscard]] bool can_write(SourceFlow& flow) const;
  void queue_write(SourceFlow& flow);
  void write_posted(SourceFlow& flow);
  void source_written(SourceFlow& flow, std::int64_t chunk);
  void write_failed(SourceFlow& flow, std::int64_t chunk);

  // p2p_deadlines.cc
  void background_posted(CopyClass copy_class, FlowClass flow_class);
  void watch_background(CopyClass copy_class);
  [[nodiscard]] std::optional<Seconds> background_deadline(CopyClass copy_class) const;

  // describe_executor.cc
  void describe(const OperationState& state, std::string& out) const;
  void describe_copies(std::string& out) const;

  // p2p_failures.cc
  [[nodiscard]] Status status_of(const OperationId& id, Cause cause, Rank peer) const;
  void fail_at(OperationState& state, Cause cause, Rank suspect, Rank reporter,
               LinkName::Kind exchange = LinkName::Kind::kNone);
  void fail(OperationState& state, const Status& status, const LinkName& link, Rank reporter);
  void notify_peers(const OperationState& state, const LinkName& link, Rank reporter);
  [[nodiscard]] Rank awaited_instead(const OperationState& state, Rank reporter,
                                     const Status& status) const;
  void send_failed(Rank peer, const Status& status, const LinkName& link);
  void send_stopped(const OperationId& operation, Rank target);
  void close_exposure(Rank source);
  void drop_source(SourceFlow& flow);
  void drop_waiting_legs(OperationState& state);
  void tell_stopped(OperationState& state);
  void end_if_over(OperationState& state);
  void locate(const OperationState& state, Rank suspect, Status& status, LinkName& link) const;
  [[nodiscard]] bool passes(const Transfer& transfer, PlaceId place, Rank rank) const;
  [[nodiscard]] bool involves(const OperationState& state, Rank rank) const;
  [[nodiscard]] CopyClass class_of(PlaceId place, bool into_place) const;

  Port& port_;
  const PipelineOptions& options_;
  Observers observers_;
  CopyQueue copies_;
  RegisteredSender writes_;
  std::map<OperationId, std::unique_ptr<OperationState>> operations_;
  /// Those that wait for peers, not for their stream: started or failed. Few, however many are
  /// enqueued.
  std::map<OperationId, const OperationState*> running_;
  /// Ended with an error while copies of theirs were still in an engine.
  std::vector<std::unique_ptr<OperationState>> zombies_;
  std::map<OperationId, std::vector<std::pair<Rank, ReadyMessage>>> early_readies_;
  std::map<OperationId, std::pair<Status, LinkName>> failed_;
  std::map<OperationId, std::uint32_t> next_number_;  ///< by sequence_of(): first not added yet
  std::map<std::pair<Opening, BufferHandle>, Answer> openings_;
  std::map<BufferHandle, Answer> imports_;
  struct WaitingOpening {
    OperationId operation;
    Rank source;
    Opening opening;
  };
  std::vector<WaitingOpening> waiting_for_opening_;
  struct WaitingImport {
    OperationId operation;
    Rank target;
    ReadyMessage ready;
  };
  std::vector<WaitingImport> waiting_for_import_;
  std::set<Rank> lost_;
  std::array<std::array<EngineWork, 2>, kCopyClassCount> work_;
  std::map<std::pair<GpuId, LinkSide>, int> under_way_;  ///< our copies, as reported to the node
  std::int64_t next_operation_ = 0;
  std::vector<CopyQueue::Ended> just_ended_;
  std::vector<RegisteredSender::Ended> just_written_;
  /// Flows with chunks that are not asked for yet.
  std::vector<std::pair<OperationId, FlowId>> wanting_;
  StageBarrier barrier_;
  bool foreground_active_ = false;
  /// Since when background copies wait for an engine without one of them being posted.
  std::array<Patience, kCopyClassCount> patience_;
  /// Whose turn it is when the patience of background ends.
  std::array<bool, kCopyClassCount> chunk_first_{};
};

}  // namespace hoccl::engine
