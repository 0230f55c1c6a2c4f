#include "sim/rivals/nccl_kernel.h"

#include "engine/base/check.h"

namespace hoccl::sim {

using engine::Bytes;

NcclKernel::NcclKernel(const NcclEnvironment& environment, SmPool& sms, engine::Rank rank)
    : environment_(environment), sms_(sms), rank_(rank) {}

void NcclKernel::add_part(NcclPipe& pipe, int channel, bool sending, Bytes size) {
  if (channels_.size() <= static_cast<std::size_t>(channel)) {
    channels_.resize(static_cast<std::size_t>(channel) + 1);
  }
  Channel& slot = channels_[static_cast<std::size_t>(channel)];
  if (slot.send == nullptr) {
    slot.send = std::make_unique<NcclWarps>(environment_, rank_, channel);
    slot.receive = std::make_unique<NcclWarps>(environment_, rank_, channel);
    ++sm_count_;
  }
  if (size == Bytes(0)) return;
  NcclWarps& warps = sending ? *slot.send : *slot.receive;
  parts_.push_back(std::make_unique<NcclPart>(NcclPart{
      .kernel = this, .warps = &warps, .pipe = &pipe, .sending = sending, .remaining = size}));
  ++unfinished_count_;
}

void NcclKernel::start(Callback ended) {
  on_ended_ = ended;
  sms_.hold(environment_.topology.gpu_of(rank_), sm_count_);
  if (parts_.empty()) {
    end();
    return;
  }
  for (const auto& part : parts_) {
    part->warps->add(*part);
    part->pipe->open(*part);
  }
  // No slice ends within serve(), so parts_ stays as it is.
  for (const Channel& channel : channels_) {
    if (channel.send == nullptr) continue;
    channel.send->serve();
    channel.receive->serve();
  }
}

bool NcclKernel::part_finished() {
  HOCCL_CHECK(unfinished_count_ > 0, "rank {}: a part finished twice", rank_);
  if (--unfinished_count_ > 0) return false;
  end();
  return true;
}

void NcclKernel::end() {
  sms_.release(environment_.topology.gpu_of(rank_), sm_count_);
  ended_ = true;
  on_ended_();
}

}  // namespace hoccl::sim
