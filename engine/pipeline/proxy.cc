#include "engine/pipeline/proxy.h"

#include <fmt/format.h>

#include <array>
#include <set>
#include <span>
#include <utility>

#include "engine/base/check.h"
#include "engine/pipeline/command.h"
#include "engine/pipeline/messages.h"
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
        streams(p, [this](const OperationId& id) { executor.start(id); }),
        executor(p, options,
                 {.ended = [this](const OperationId& id,
                                  const Status& status) { streams.operation_ended(id, status); },
                  .stalled = [this](std::span<const OperationId> ids) { report_stall(ids); }}),
        send_stager(p, options),
        receive_stager(p) {}

  void handle(const CopiesDone& done) { executor.copied(done); }
  void handle(const WritesDone& done) { send_stager.written(done); }
  void handle(const Arrived& arrival) { receive_stager.arrived(arrival); }
  void handle(const GateReached& reached) { streams.gate_reached(reached); }
  void handle(const BufferExported& done) { executor.exported(done); }
  void handle(const BufferImported& done) { executor.imported(done); }
  void handle(const ForegroundChanged& change) { executor.foreground_changed(change.active); }
  void handle(const Submitted& submitted) {
    std::visit([this](const auto& body) { run(body); }, submitted.command->body);
  }
  void handle(const PeerLost& lost) {
    if (!lost_peers.insert(lost.peer).second) return;
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
    for (const Operation& operation : group.operations) executor.add(operation);
  }
  void run(const AbortCommunicator& abort) { executor.abort(abort.communicator); }

  void dispatch(Rank source, const Message& message);
  void report_stall(std::span<const OperationId> ids) const;
  [[nodiscard]] std::string describe() const;

  Port& port;
  PipelineOptions options;
  OnStall on_stall;
  StreamManager streams;
  P2pExecutor executor;
  SendStager send_stager;
  ReceiveStager receive_stager;
  std::set<Rank> lost_peers;
  /// Of one poll; a member because filling 64 variants anew would cost more than most steps do.
  std::array<Completion, 64> completions;
};

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
      return receive_stager.pulled(source, unpack<SlotMessage>(message).slot);
    case MessageKind::kDelivered:
      return executor.delivered(unpack<FlowMessage>(message));
    case MessageKind::kFailed:
      return executor.failed(source, unpack<FailedMessage>(message));
    case MessageKind::kStopped:
      return executor.stopped(source, unpack<FlowMessage>(message));
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
  executor.describe(text);
  send_stager.describe(text);
  receive_stager.describe(text);
  streams.describe(text);
  return text;
}

Proxy::Proxy(Port& port, const PipelineOptions& options, OnStall on_stall)
    : impl_(std::make_unique<Impl>(port, options, std::move(on_stall))) {}

Proxy::~Proxy() = default;

std::optional<Seconds> Proxy::step() {
  std::size_t count = 0;
  while ((count = impl_->port.poll(impl_->completions)) > 0) {
    for (std::size_t i = 0; i < count; ++i) {
      std::visit([this](const auto& completion) { impl_->handle(completion); },
                 impl_->completions[i]);
    }
  }
  impl_->executor.end_overdue(impl_->port.now());
  impl_->streams.act();
  impl_->receive_stager.act();
  impl_->send_stager.act();
  impl_->executor.act();
  // Asked last: what has just been started must be watched, too.
  return impl_->executor.next_deadline();
}

bool Proxy::quiescent() const {
  return impl_->streams.idle() && impl_->executor.quiescent() && impl_->send_stager.quiescent() &&
         impl_->receive_stager.quiescent();
}

std::string Proxy::describe() const { return impl_->describe(); }

}  // namespace hoccl::engine
