// The part of P2pExecutor that has NICs write out of user buffers into user buffers.

#include "engine/pipeline/p2p_executor.h"

namespace hoccl::engine {

bool P2pExecutor::can_write(SourceFlow& flow) const {
  if (!flow.has_waiting_chunk() || !flow.admitted()) return false;
  const auto registration = openings_.find({Opening::kRegister, flow.buffer().buffer});
  if (registration == openings_.end() || registration->second != Answer::kOk) return false;
  return !is_held(flow, flow.segment_of(flow.first_waiting_chunk()));
}

void P2pExecutor::queue_write(SourceFlow& flow) {
  if (!flow.queued && can_write(flow)) writes_.offer(flow);
}

void P2pExecutor::write_posted(SourceFlow& flow) {
  flow.operation->legs_in_flight += 1;
  queue_write(flow);
}

void P2pExecutor::written(const WritesDone& done) {
  just_written_.clear();
  writes_.complete(done, just_written_);
  for (const RegisteredSender::Ended& ended : just_written_) {
    ended.flow->operation->legs_in_flight -= 1;
    port_.account(CpuWork::kBookkeeping, 1);
    if (ended.outcome == Outcome::kError) {
      write_failed(*ended.flow, ended.chunk);
    } else {
      source_written(*ended.flow, ended.chunk);
    }
  }
}

void P2pExecutor::source_written(SourceFlow& flow, std::int64_t chunk) {
  OperationState& state = *flow.operation;
  flow.copied += 1;
  if (state.failed) {
    end_if_over(state);
    return;
  }
  progress(state);
  if (options_.barrier) {
    state.unsent.at(flow.segment_of(chunk).gate) -= 1;
    report_stage(state);
  }
  if (flow.copied < flow.chunks) return;
  flow.done = true;
  flow_done(state, *flow.transfer);
}

void P2pExecutor::write_failed(SourceFlow& flow, std::int64_t chunk) {
  OperationState& state = *flow.operation;
  Status status = status_of(state.operation.id, Cause::kLinkError, flow.transfer->target);
  status.flow = flow.id;
  status.chunk = chunk;
  fail(state, status, nic_pair(flow.transfer->send_nic, flow.transfer->receive_nic), port_.rank());
}

}  // namespace hoccl::engine
