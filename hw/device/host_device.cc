#include "hw/device/host_device.h"

#include <algorithm>
#include <utility>

#include "hw/copy/host_copy_engine.h"
#include "hw/stream/host_streams.h"
#include "hw/system/shared_memory.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {
namespace {

class SharedBlock final : public MemoryBlock {
 public:
  explicit SharedBlock(SharedMemory memory) : memory_(std::move(memory)) {}
  [[nodiscard]] std::byte* data() const override { return memory_.data(); }
  [[nodiscard]] engine::Bytes size() const override { return memory_.size(); }
  [[nodiscard]] BlockName name() const override {
    return {.kind = BlockName::Kind::kDescriptor, .size_bytes = memory_.size().count()};
  }
  [[nodiscard]] int descriptor() const override { return memory_.descriptor(); }

 private:
  SharedMemory memory_;
};

}  // namespace

std::shared_ptr<MemoryBlock> HostDevice::allocate(const std::string& name, engine::Bytes size) {
  return std::make_shared<SharedBlock>(SharedMemory::create(name, size));
}

std::shared_ptr<MemoryBlock> HostDevice::attach(const BlockName& name, FileDescriptor descriptor) {
  if (name.kind != BlockName::Kind::kDescriptor || !descriptor || name.size_bytes < 0) {
    return nullptr;
  }
  try {
    return std::make_shared<SharedBlock>(
        SharedMemory::attach(std::move(descriptor), engine::Bytes(name.size_bytes)));
  } catch (const SystemError&) {
    return nullptr;  // the completion says so
  }
}

void HostDevice::read(std::span<std::byte> to, const std::byte* from) {
  std::copy_n(from, to.size(), to.data());
}

void HostDevice::write(std::byte* to, std::span<const std::byte> from) {
  std::ranges::copy(from, to);
}

std::unique_ptr<CopyEngine> HostDevice::make_copy_engine(std::function<void()> wake,
                                                         LegTrace& trace) {
  return std::make_unique<HostCopyEngine>(copy_threads_, std::move(wake), trace);
}

std::unique_ptr<Streams> HostDevice::make_streams(
    std::function<void(engine::GateReached)> reached) {
  return std::make_unique<HostStreams>(std::move(reached));
}

}  // namespace hoccl::hw
