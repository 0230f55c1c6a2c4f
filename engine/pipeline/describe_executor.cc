#include <fmt/format.h>

#include <iterator>

#include "engine/pipeline/p2p_executor.h"

namespace hoccl::engine {
namespace {

/// `place`: of the slots of a flow that is not sent as the plan says.
std::string path_of(const Transfer& transfer, PlaceId place) {
  if (transfer.route == Route::kDirect) {
    return place.is_none() ? "direct" : fmt::format("by place {} instead of direct", place);
  }
  if (transfer.route == Route::kRelayed) return fmt::format("by place {}", transfer.via);
  return fmt::format("nic {} -> nic {}{}", transfer.send_nic, transfer.receive_nic,
                     goes_through_slots(transfer) ? "" : " from buffer to buffer");
}

void describe_source(const SourceFlow& flow, std::string& out) {
  const auto add = std::back_inserter(out);
  fmt::format_to(add, "  sends flow {} to rank {}, {}: {} of {} chunks copied, {} posted", flow.id,
                 fmt::join(targets_of(*flow.transfer), "+"), path_of(*flow.transfer, flow.place),
                 flow.copied, flow.chunks, flow.posted);
  if (flow.depends()) fmt::format_to(add, ", passes on flow {}", flow.transfer->after);
  if (flow.leased()) {
    std::int64_t requested = 0;
    for (const LeaseSegment& segment : flow.segments) requested += segment.requested;
    fmt::format_to(add, ", {} slots held", flow.slots.size());
    if (requested > flow.sent) out += ", lease open";
  }
  if (!flow.admitted()) {
    fmt::format_to(add, ", not admitted: waits for rank {}", fmt::join(flow.waiting_for, "+"));
  }
  out += flow.done ? ", done\n" : "\n";
}

void describe_target(const TargetFlow& flow, std::string& out) {
  fmt::format_to(std::back_inserter(out),
                 "  receives flow {} from rank {}, {}: {} of {} chunks delivered{}{}\n", flow.id,
                 flow.transfer->source, path_of(*flow.transfer, flow.place), flow.delivered,
                 flow.chunks, flow.exposed ? ", exposed" : "", flow.done ? ", done" : "");
}

}  // namespace

void P2pExecutor::describe(std::string& out) const {
  fmt::format_to(std::back_inserter(out), "{} operations unfinished\n", operations_.size());
  for (const auto& [id, state] : operations_) describe(*state, out);
  for (const auto& zombie : zombies_) {
    out += "ended, but something may still touch its buffers:\n";
    describe(*zombie, out);
  }
  describe_copies(out);
}

void P2pExecutor::describe(const OperationState& state, std::string& out) const {
  const auto add = std::back_inserter(out);
  fmt::format_to(add,
                 "operation {}: {}, {}, last progress {:.6f} s ago, {} copies and writes in flight",
                 state.operation.id, state.started ? "started" : "its stream is not there",
                 state.announced ? "announced to its sources" : "not announced",
                 (port_.now() - state.last_progress).count(), state.legs_in_flight);
  if (!state.parked.empty()) fmt::format_to(add, ", {} chunks parked", state.parked.size());
  out += '\n';
  if (state.failed) fmt::format_to(add, "  failed: {}\n", to_string(state.status));
  for (const SourceFlow& flow : state.sources) describe_source(flow, out);
  for (const TargetFlow& flow : state.targets) describe_target(flow, out);
}

void P2pExecutor::describe_copies(std::string& out) const {
  const auto add = std::back_inserter(out);
  for (const CopyClass copy_class : kCopyClasses) {
    const auto& [foreground, background] = work_[static_cast<std::size_t>(copy_class)];
    const int in_flight = copies_.in_flight(copy_class);
    if (in_flight == 0 && foreground.empty() && background.empty()) continue;
    fmt::format_to(add,
                   "{} copy engine: {} copies in flight; waiting: foreground {} delivers and {} "
                   "flows, background {} delivers and {} flows",
                   to_string(copy_class), in_flight, foreground.deliveries.size(),
                   foreground.candidates.size(), background.deliveries.size(),
                   background.candidates.size());
    if (const auto since = patience_[static_cast<std::size_t>(copy_class)].since()) {
      fmt::format_to(add, ", held back for {:.6f} s{}", (port_.now() - *since).count(),
                     foreground_active_ ? " by foreground work" : "");
    }
    out += '\n';
  }
  for (const WaitingOpening& waiting : waiting_for_opening_) {
    fmt::format_to(add, "operation {}: its buffer for rank {} is not {} yet\n", waiting.operation,
                   waiting.source, waiting.opening == Opening::kExport ? "exported" : "registered");
  }
  for (const WaitingImport& waiting : waiting_for_import_) {
    fmt::format_to(add, "operation {}: the buffer of rank {} is not imported yet\n",
                   waiting.operation, waiting.target);
  }
}

}  // namespace hoccl::engine
