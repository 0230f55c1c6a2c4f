#pragma once

#include "hw/device/device.h"

namespace hoccl::hw {

/// No GPU at all: shared memory, worker threads with memcpy, and threads that are streams.
class HostDevice final : public Device {
 public:
  explicit HostDevice(int copy_threads) : copy_threads_(copy_threads) {}

  [[nodiscard]] std::string description() const override { return "no GPU"; }
  std::shared_ptr<MemoryBlock> allocate(const std::string& name, engine::Bytes size) override;
  std::shared_ptr<MemoryBlock> find(std::span<const std::byte> /*memory*/) override {
    return nullptr;
  }
  std::shared_ptr<MemoryBlock> attach(const BlockName& name, FileDescriptor descriptor) override;
  std::shared_ptr<const void> pin(std::span<std::byte> /*memory*/) override { return nullptr; }
  DmaBufExport dma_buf_export(std::span<const std::byte> /*memory*/) override { return {}; }
  [[nodiscard]] bool has_own_memory() const override { return false; }
  void read(std::span<std::byte> to, const std::byte* from) override;
  void write(std::byte* to, std::span<const std::byte> from) override;
  void start_recording() override {}
  ZeroSmVerdict stop_recording() override { return {}; }
  std::unique_ptr<CopyEngine> make_copy_engine(std::function<void()> wake,
                                               LegTrace& trace) override;
  std::unique_ptr<Streams> make_streams(std::function<void(engine::GateReached)> reached) override;

 private:
  const int copy_threads_;
};

}  // namespace hoccl::hw
