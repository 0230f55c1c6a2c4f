#include "tests/support/dma_transfer.h"

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {

DmaTransfer::DmaTransfer(IdealMemory& memory, const Region& source, const Region& target,
                         const Accessor& accessor)
    : memory_(memory), source_(source), target_(target), accessor_(accessor) {
  HOCCL_CHECK(source.size == target.size, "{} from {} bytes to {}", to_string(accessor),
              source.size.count(), target.size.count());
  reading_ = memory.begin_read(source, accessor);
  writing_ = memory.begin_write(target, accessor);
}

void DmaTransfer::start() {
  if (!cancelled_) memory_.poison(target_);
}

void DmaTransfer::sample() {
  const auto bytes = memory_.bytes(source_);
  sample_.assign(bytes.begin(), bytes.end());
}

void DmaTransfer::store(int reads) {
  if (cancelled_ || failing_) return;
  HOCCL_CHECK(std::ranges::equal(sample_, memory_.bytes(source_)), "the source of {} has changed",
              to_string(accessor_));
  memory_.store(target_, sample_, reads, accessor_);
  sample_ = {};
  stored_ = true;
}

void DmaTransfer::release_target() {
  memory_.end(target_.buffer, writing_);
  target_released_ = true;
}

void DmaTransfer::release() {
  memory_.end(source_.buffer, reading_);
  if (!target_released_) release_target();
  if (stored_) memory_.consumed(source_);
}

}  // namespace hoccl::engine
