#include "sim/rivals/nccl_kernel.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Bytes;

namespace {

// NCCL_MAX_DEV_WORK_P2P_PER_BATCH (NCCL 2.30, src/include/device.h).
constexpr std::size_t kRoundsPerBatch = 8;

}  // namespace

NcclKernel::NcclKernel(const NcclEnvironment& environment, SmPool& sms, engine::Rank rank)
    : environment_(environment), sms_(sms), rank_(rank) {}

NcclKernel::Channel& NcclKernel::channel_at(int channel) {
  if (channels_.size() <= static_cast<std::size_t>(channel)) {
    channels_.resize(static_cast<std::size_t>(channel) + 1);
  }
  Channel& found = channels_[static_cast<std::size_t>(channel)];
  if (!found.is_used) ++sm_count_;
  found.is_used = true;
  return found;
}

/// A send and a receive of the same round are one of NCCL's works.
NcclKernel::Batch& NcclKernel::batch_for(Channel& channel, bool sending, int round) {
  if (!channel.batches.empty()) {
    Batch& last = channel.batches.back();
    const std::vector<int>& same = sending ? last.sends : last.receives;
    const std::vector<int>& other = sending ? last.receives : last.sends;
    const bool has_round = std::ranges::count(same, round) > 0;
    const bool joins_other = std::ranges::count(other, round) > 0;
    std::size_t rounds = same.size();
    for (const int each : other) rounds += std::ranges::count(same, each) > 0 ? 0U : 1U;
    if (!has_round && (joins_other || rounds < kRoundsPerBatch)) return last;
  }
  return channel.batches.emplace_back();
}

void NcclKernel::add_part(NcclPipe& pipe, int channel, bool sending, Bytes size, int round) {
  Channel& slot = channel_at(channel);
  if (slot.send == nullptr) {
    slot.send = std::make_unique<NcclWarps>(environment_, rank_, channel);
    slot.receive = std::make_unique<NcclWarps>(environment_, rank_, channel);
  }
  if (size == Bytes(0)) return;
  parts_.push_back(
      std::make_unique<NcclPart>(NcclPart{.kernel = this,
                                          .worker = sending ? slot.send.get() : slot.receive.get(),
                                          .pipe = &pipe,
                                          .channel = channel,
                                          .sending = sending,
                                          .remaining = size}));
  Batch& batch = batch_for(slot, sending, round);
  (sending ? batch.sends : batch.receives).push_back(round);
  batch.parts.push_back(parts_.back().get());
}

void NcclKernel::add_ring(NcclPipe& before, NcclPipe& next, int channel,
                          const NcclRingProgram& program) {
  Channel& slot = channel_at(channel);
  HOCCL_CHECK(slot.ring == nullptr, "rank {}: two rings on channel {}", rank_, channel);
  if (program.block == Bytes(0)) return;
  slot.ring =
      std::make_unique<NcclRing>(environment_, *this, rank_, channel, before, next, program);
}

void NcclKernel::start(Callback ended) {
  on_ended_ = ended;
  sms_.hold(environment_.topology.gpu_of(rank_), sm_count_);
  for (Channel& channel : channels_) {
    if (channel.ring != nullptr || !channel.batches.empty()) ++busy_channel_count_;
  }
  if (busy_channel_count_ == 0) {
    end();
    return;
  }
  // No slice ends within serve(), so the channels stay as they are.
  for (Channel& channel : channels_) {
    if (channel.ring != nullptr) {
      channel.unfinished_count = 1;
      channel.ring->open();
      channel.ring->serve();
    } else {
      begin_next_batch(channel);
    }
  }
}

bool NcclKernel::begin_next_batch(Channel& channel) {
  if (channel.next_batch == channel.batches.size()) return false;
  const Batch& batch = channel.batches[channel.next_batch++];
  channel.unfinished_count = batch.parts.size();
  for (NcclPart* part : batch.parts) {
    (part->sending ? channel.send : channel.receive)->add(*part);
    part->pipe->open(*part);
  }
  channel.send->serve();
  channel.receive->serve();
  return true;
}

bool NcclKernel::work_finished(int channel) {
  Channel& slot = channels_[static_cast<std::size_t>(channel)];
  HOCCL_CHECK(slot.unfinished_count > 0, "rank {}: channel {} finished twice", rank_, channel);
  if (--slot.unfinished_count > 0 || begin_next_batch(slot) || --busy_channel_count_ > 0) {
    return false;
  }
  end();
  return true;
}

void NcclKernel::end() {
  sms_.release(environment_.topology.gpu_of(rank_), sm_count_);
  ended_ = true;
  on_ended_();
}

}  // namespace hoccl::sim
