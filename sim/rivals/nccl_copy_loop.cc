#include "sim/rivals/nccl_copy_loop.h"

namespace hoccl::sim {

using engine::Bytes;

void NcclCopyLoop::copy(std::optional<RouteId> route, Bytes size, std::string_view name,
                        Callback copied) {
  route_ = route;
  size_ = size;
  name_ = name;
  copied_ = copied;
  begin_ = environment_.clock.now();
  environment_.clock.after(environment_.constants.step_overhead,
                           Callback::to<&NcclCopyLoop::start>(*this));
}

void NcclCopyLoop::start() {
  const engine::BytesPerSecond rate = environment_.constants.channel_copy_rate;
  const auto done = Callback::to<&NcclCopyLoop::end>(*this);
  if (route_) {
    environment_.network.start(*route_, size_, done, rate);
  } else {
    environment_.clock.after(size_ / rate, done);
  }
}

void NcclCopyLoop::end() {
  if (environment_.trace != nullptr) {
    environment_.trace->record({
        .begin = begin_,
        .end = environment_.clock.now(),
        .track = {rank_, engine::TrackKind::kSm, channel_},
        .name = name_,
        .flow = engine::FlowId::none(),
        .chunk = -1,
        .size = size_,
        .operation = {},
    });
  }
  // May end the kernel that this is a part of.
  const Callback copied = copied_;
  copied();
}

}  // namespace hoccl::sim
