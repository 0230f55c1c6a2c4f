#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "hw/device/device.h"
#include "hw/system/shared_memory.h"

namespace hoccl::hw {

/// Which slot of a pool.
struct SlotIndex {
  bool receive = false;
  std::uint32_t index = 0;
};

/// The staging memory of one place: its send slots and receive slots, created by the process that
/// hosts the place, mapped by every process of the host. A slot's bytes lie in a *frame*, in the
/// host's memory or the GPU's; on the map link a write is the exchange of two slots' frames.
class StagingPool {
 public:
  struct Shape {
    int slots = 0;  ///< send slots and receive slots, each
    engine::Bytes slot_size;
    /// Also those of a GPU's place lie in the host's memory, because no NIC reaches the GPU's.
    bool in_host_memory = false;
  };
  /// Frame i of place p is number p * 2 * slots + i.
  using Frame = std::uint32_t;

  StagingPool() = default;
  /// `on_gpu`: its frames lie in the device's memory. Throws SystemError or the device's error.
  static StagingPool create(engine::PlaceId place, const Shape& shape, Device& device, bool on_gpu);
  /// `frames`: their name, of kind kNone when they lie behind the descriptor. Throws SystemError.
  static StagingPool attach(FileDescriptor descriptor, const BlockName& frames, const Shape& shape,
                            Device& device);

  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(memory_); }
  [[nodiscard]] int descriptor() const { return memory_.descriptor(); }
  [[nodiscard]] BlockName frames() const {
    return gpu_frames_ == nullptr ? BlockName() : gpu_frames_->name();
  }
  /// No process of the host can read its frames with plain loads.
  [[nodiscard]] bool is_on_gpu() const { return gpu_frames_ != nullptr; }
  /// The frame that the slot's bytes lie in now.
  [[nodiscard]] std::atomic<Frame>& frame_of(SlotIndex slot) const;
  /// The bytes of this place's own i-th frame.
  [[nodiscard]] std::byte* frame(std::uint32_t index) const;
  /// The frames that the send slots, or the receive slots, have from the beginning.
  [[nodiscard]] std::span<std::byte> slot_memory(bool receive) const;
  /// From one frame to the next.
  [[nodiscard]] static std::size_t frame_stride(const Shape& shape);
  [[nodiscard]] std::uint32_t frame_count() const {
    return 2 * static_cast<std::uint32_t>(shape_.slots);
  }

 private:
  [[nodiscard]] static std::size_t table_size(const Shape& shape);
  [[nodiscard]] static std::size_t frames_size(const Shape& shape);
  /// Of the shared memory.
  [[nodiscard]] static engine::Bytes size_for(const Shape& shape, bool on_gpu);

  SharedMemory memory_;  ///< which frame each slot has, and unless they are on a GPU the frames
  std::shared_ptr<MemoryBlock> gpu_frames_;
  std::shared_ptr<const void> pin_;
  Shape shape_;
};

}  // namespace hoccl::hw
