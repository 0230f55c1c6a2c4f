#include "hw/node/staging_pool.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "hw/system/system_error.h"

namespace hoccl::hw {
namespace {

/// Frames start on pages of their own, as registered GPU memory does.
constexpr std::size_t kPage = 4096;

std::size_t round_up(std::size_t size) { return (size + kPage - 1) / kPage * kPage; }

}  // namespace

std::size_t StagingPool::table_size(const Shape& shape) {
  return round_up(2 * static_cast<std::size_t>(shape.slots) * sizeof(std::atomic<Frame>));
}

std::size_t StagingPool::frame_stride(const Shape& shape) {
  return round_up(static_cast<std::size_t>(shape.slot_size.count()));
}

std::size_t StagingPool::frames_size(const Shape& shape) {
  return 2 * static_cast<std::size_t>(shape.slots) * frame_stride(shape);
}

engine::Bytes StagingPool::size_for(const Shape& shape, bool on_gpu) {
  return engine::Bytes(table_size(shape) + (on_gpu ? std::size_t{0} : frames_size(shape)));
}

StagingPool StagingPool::create(engine::PlaceId place, const Shape& shape, Device& device,
                                bool on_gpu) {
  StagingPool pool;
  pool.shape_ = shape;
  const std::string name = fmt::format("hoccl-place-{}", place);
  pool.memory_ = SharedMemory::create(name, size_for(shape, on_gpu));
  if (on_gpu) {
    pool.gpu_frames_ = device.allocate(name, engine::Bytes(frames_size(shape)));
  } else {
    pool.pin_ = device.pin({pool.frame(0), frames_size(shape)});
  }
  const Frame first = static_cast<Frame>(place.value()) * pool.frame_count();
  for (std::uint32_t i = 0; i < pool.frame_count(); ++i) {
    const auto slots = static_cast<std::uint32_t>(shape.slots);
    pool.frame_of({i >= slots, i % slots}).store(first + i, std::memory_order_relaxed);
  }
  return pool;
}

StagingPool StagingPool::attach(FileDescriptor descriptor, const BlockName& frames,
                                const Shape& shape, Device& device) {
  const bool on_gpu = frames.kind != BlockName::Kind::kNone;
  StagingPool pool;
  pool.shape_ = shape;
  pool.memory_ = SharedMemory::attach(std::move(descriptor), size_for(shape, on_gpu));
  if (!on_gpu) {
    pool.pin_ = device.pin({pool.frame(0), frames_size(shape)});
    return pool;
  }
  pool.gpu_frames_ = device.attach(frames, FileDescriptor());
  if (pool.gpu_frames_ == nullptr || pool.gpu_frames_->size() < engine::Bytes(frames_size(shape))) {
    throw SystemError("map the slots of another process's GPU", EINVAL);
  }
  return pool;
}

std::atomic<StagingPool::Frame>& StagingPool::frame_of(SlotIndex slot) const {
  const std::size_t first = slot.receive ? static_cast<std::size_t>(shape_.slots) : 0;
  return reinterpret_cast<std::atomic<Frame>*>(memory_.data())[first + slot.index];
}

std::span<std::byte> StagingPool::slot_memory(bool receive) const {
  const auto slots = static_cast<std::uint32_t>(shape_.slots);
  return {frame(receive ? slots : 0), slots * frame_stride(shape_)};
}

std::byte* StagingPool::frame(std::uint32_t index) const {
  std::byte* frames =
      gpu_frames_ == nullptr ? memory_.data() + table_size(shape_) : gpu_frames_->data();
  return frames + index * frame_stride(shape_);
}

}  // namespace hoccl::hw
