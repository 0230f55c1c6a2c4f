#include "engine/pipeline/proxy.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <span>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/command.h"
#include "engine/pipeline/count_exchange.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/own_mail.h"
#include "engine/pipeline/p2p_executor.h"
#include "engine/pipeline/receive_stager.h"
#include "engine/pipeline/send_stager.h"
#include "engine/pipeline/stream_manager.h"

namespace hoccl::engine {

struct Proxy::Impl {
  Impl(Port& p, const PipelineOptions& o, OnStall observer)
      : port(p),
        options(o),
        on_stall(std::move(observer)),
        streams(port,
                [this](const OperationId& id) {
                  if (!counts.start(id)) executor.start(id);
                }),
        executor(port, options,
                 {.ended = [this](const OperationId& id,
                                  const Status& status) { streams.operation_ended(id, status); },
                  .stalled = [this](std::span<const OperationId> ids) { report_stall(ids); }}),
        counts(port, options,
               {.planned = [this](const Operation& operation) { executor.add(operation); },
                .start = [this](const OperationId& id) { executor.start(id); },
                .ended =
                    [this](const OperationId& id, const Status& status) {
                      executor.never_added(id, status);
                      streams.operation_ended(id, status);
                    }}),
        send_stager(port, options),
        receive_stager(port, options) {}

  void handle(const CopiesDone& done) { executor.copied(done); }
  void handle(const WritesDone& done) {
    if (executor.owns(done.queue_pair)) {
      executor.written(done);
    } else {
      send_stager.written(done);
    }
  }
  void handle(const Arrived& arrival) {
    if (arrival.descriptor.kind == static_cast<std::uint8_t>(MessageKind::kWritten)) {
      executor.arrived(arrival.descriptor);
    } else {
      receive_stager.arrived(arrival);
    }
  }
  void handle(const GateReached& reached) { streams.gate_reached(reached); }
  void handle(const BufferExported& done) { executor.exported(done); }
  void handle(const BufferRegistered& done) { executor.registered(done); }
  void handle(const BufferImported& done) { executor.imported(done); }
  void handle(const ForegroundChanged& change) { executor.foreground_changed(change.active); }
  void handle(const Submitted& submitted) {
    std::visit([this](const auto& body) { run(body); }, submitted.command->body);
  }
  void handle(const PeerLost& lost) {
    if (!lost_peers.insert(lost.peer).second) return;
    counts.peer_lost(lost.peer);
    executor.peer_lost(lost.peer);
    send_stager.peer_lost(lost.peer);
    receive_stager.peer_lost(lost.peer);
  }
  void handle(const MessageArrived& arrival) {
    // What a dead rank said before it died must not undo the clean-up after it.
    if (lost_peers.contains(arrival.source)) return;
    dispatch(arrival.source, arrival.message);
  }

  void run(const SubmitGroup& group) {
    streams.submit(group);
    for (const Operation& operation : group.operations) {
      if (operation.counts == nullptr) {
        executor.add(operation);
      } else if (const Status* failure = executor.failure_of(operation.id)) {
        streams.operation_ended(operation.id, Status(*failure));
      } else {
        counts.begin(operation);
      }
    }
  }
  void run(const AbortCommunicator& abort) {
    counts.abort(abort.communicator);
    executor.abort(abort.communicator);
  }

  void act();
  void dispatch(Rank source, const Message& message);
  /// Whether there was any.
  bool read_own_mail() {
    const bool any = !port.empty();
    while (!port.empty()) dispatch(port.rank(), port.take());
    return any;
  }
  void pulled(Rank source, const SlotMessage& message) {
    if (message.in_send_slots != 0) {
      send_stager.pulled(message.slot);
    } else {
      receive_stager.pulled(source, message.slot);
    }
  }
  void failed(Rank source, const FailedMessage& message) {
    if (!counts.failed(source, message)) executor.failed(source, message);
  }
  void counted(Rank source, const CountsMessage& message) {
    // Of an operation that has failed here nobody waits for the rest.
    if (executor.failure_of(message.operation) == nullptr) counts.counts(source, message);
  }
  void report_stall(std::span<const OperationId> ids) const;
  [[nodiscard]] std::string describe() const;

  OwnMail port;
  PipelineOptions options;
  OnStall on_stall;
  StreamManager streams;
  P2pExecutor executor;
  CountExchange counts;
  SendStager send_stager;
  ReceiveStager receive_stager;
  std::set<Rank> lost_peers;
  /// Of one poll; a member because filling 64 variants anew would cost more than most steps do.
  std::array<Completion, 64> completions;
};

/// Until nothing more follows from what is known: nobody would wake this proxy for the rest.
void Proxy::Impl::act() {
  bool again = true;
  while (again) {
    streams.act();
    receive_stager.act();
    send_stager.act();
    again = read_own_mail();
    executor.act();
    again = read_own_mail() || again;
  }
}

void Proxy::Impl::dispatch(Rank source, const Message& message) {
  switch (kind_of(message)) {
    case MessageKind::kReady:
      return executor.ready(source, unpack<ReadyMessage>(message));
    case MessageKind::kLeaseRequest:
      return send_stager.lease_requested(source, unpack<LeaseRequestMessage>(message));
    case MessageKind::kLeaseGrant:
      return executor.granted(unpack<LeaseGrantMessage>(message));
    case MessageKind::kLeaseCancel:
      return send_stager.lease_cancelled(unpack<FlowMessage>(message));
    case MessageKind::kSlotReturn:
      return send_stager.slot_returned(unpack<SlotMessage>(message).slot);
    case MessageKind::kStaged:
      return send_stager.staged(unpack<Descriptor>(message));
    case MessageKind::kFlowSent:
      return executor.flow_sent(unpack<FlowMessage>(message));
    case MessageKind::kCreditRequest:
      return receive_stager.credits_requested(unpack<CreditCountMessage>(message));
    case MessageKind::kCredit:
      return send_stager.credited(unpack<CreditMessage>(message));
    case MessageKind::kCreditCancel:
      return receive_stager.credits_cancelled(unpack<CreditCountMessage>(message));
    case MessageKind::kCreditReturn:
      return receive_stager.credit_returned(unpack<CreditMessage>(message));
    case MessageKind::kLanded:
      return executor.landed(unpack<Descriptor>(message));
    case MessageKind::kPulled:
      return pulled(source, unpack<SlotMessage>(message));
    case MessageKind::kDelivered:
      return executor.delivered(unpack<FlowMessage>(message));
    case MessageKind::kFailed:
      return failed(source, unpack<FailedMessage>(message));
    case MessageKind::kCounts:
      return counted(source, unpack<CountsMessage>(message));
    case MessageKind::kStopped:
      return executor.stopped(source, unpack<FlowMessage>(message));
    case MessageKind::kLeaseBranch:
      return send_stager.lease_branch(source, unpack<LeaseBranchMessage>(message));
    case MessageKind::kStageDone:
      return executor.stage_done(source, unpack<StageMessage>(message));
    case MessageKind::kStageOpen:
      return executor.stage_open(unpack<StageMessage>(message));
    case MessageKind::kWritten:  // comes with a write, never as a message
      break;
  }
  HOCCL_CHECK(false, "message of unknown kind {} from rank {}", static_cast<int>(kind_of(message)),
              source);
}

void Proxy::Impl::report_stall(std::span<const OperationId> ids) const {
  if (!on_stall) return;
  on_stall(fmt::format("operation{} {} made no progress for {} s\n{}", ids.size() == 1 ? "" : "s",
                       fmt::join(ids, ", "), options.timeout.count(), describe()));
}

std::string Proxy::Impl::describe() const {
  std::string text = fmt::format("proxy of rank {} at {:.6f} s\n", port.rank(), port.now().count());
  if (!lost_peers.empty()) text += fmt::format("lost ranks: {}\n", fmt::join(lost_peers, ", "));
  counts.describe(text);
  executor.describe(text);
  send_stager.describe(text);
  receive_stager.describe(text);
  streams.describe(text);
  return text;
}

Proxy::Proxy(Port& port, const PipelineOptions& options, OnStall on_stall)
    : impl_(std::make_unique<Impl>(port, options, std::move(on_stall))) {}

Proxy::~Proxy() = default;

void Proxy::step() {
  std::size_t count = impl_->completions.size();
  // One that was not filled had room for all there was: another look would only cost time.
  while (count == impl_->completions.size()) {
    count = impl_->port.poll(impl_->completions);
    for (std::size_t i = 0; i < count; ++i) {
      std::visit([this](const auto& completion) { impl_->handle(completion); },
                 impl_->completions[i]);
      // What follows from it comes before the next, which may be that a peer is lost.
      impl_->read_own_mail();
    }
  }
  impl_->counts.end_overdue(impl_->port.now());
  impl_->executor.end_overdue(impl_->port.now());
  impl_->act();
}

std::optional<Seconds> Proxy::next_deadline() const {
  std::optional<Seconds> next = impl_->executor.next_deadline();
  for (const auto& other : {impl_->counts.next_deadline(), impl_->receive_stager.next_deadline(),
                            impl_->send_stager.next_deadline()}) {
    if (other && (!next || *other < *next)) next = other;
  }
  return next;
}

bool Proxy::quiescent() const {
  return impl_->streams.idle() && impl_->counts.quiescent() && impl_->executor.quiescent() &&
         impl_->send_stager.quiescent() && impl_->receive_stager.quiescent();
}

std::string Proxy::describe() const { return impl_->describe(); }

}  // namespace hoccl::engine
