#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "engine/fabric.h"
#include "hw/cuda/copy_batch_raii.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::hw {

/// Whether everything before the event has been done. Throws CudaError.
bool is_done(const CudaEvent& event);
/// Waits for it without sleeping. Throws CudaError, CalibrationFailed.
void wait_for(const CudaEvent& event);
void record(const CudaEvent& event, const CudaStream& stream);
/// Of the GPU's clock; both with a time.
engine::Seconds between(const CudaEvent& begin, const CudaEvent& end);

/// Copies of one class by one device, between two buffers of its own. Each copy moves another part
/// of them, in turn.
class CopyPath {
 public:
  /// `peer`: of copies to a peer, which this one must be able to access.
  CopyPath(engine::CopyClass copy_class, int device, int peer);
  ~CopyPath();
  CopyPath(const CopyPath&) = delete;
  CopyPath& operator=(const CopyPath&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  void copy(const CudaStream& stream, engine::Bytes size);
  /// The first part, so that its last word in the target is known.
  void copy_first(const CudaStream& stream, engine::Bytes size);
  /// The last word of what copy_first() writes, where the CPU can read it (d2h); else null.
  [[nodiscard]] volatile std::uint64_t* last_word(engine::Bytes size) const;

  /// Chooses the parts of the next batch, which copy_batch() hands over: a call by itself, for its
  /// time.
  void choose_batch(engine::Bytes size, int count);
  void copy_batch(const CudaStream& stream);

  /// Copies that keep the engine busy while others are handed over behind them.
  void keep_busy(const CudaStream& stream);

 private:
  /// Start of the next part.
  std::size_t next(engine::Bytes size);

  std::string name_;
  engine::CopyClass copy_class_;
  std::unique_ptr<PinnedMemory> host_memory_;
  std::unique_ptr<DeviceMemory> device_memory_;
  std::unique_ptr<DeviceMemory> peer_memory_;
  std::byte* source_ = nullptr;
  std::byte* target_ = nullptr;
  std::size_t next_ = 0;
  int busy_copies_ = 1;
  CopyBatch batch_;
};

/// The GPU's time of what is put into a stream, when the stream has it all before it begins.
class EngineStopwatch {
 public:
  explicit EngineStopwatch(CopyPath& path) : path_(path) {}

  /// Keeps the engine busy and starts the time behind that.
  void start(const CudaStream& stream);
  /// What comes in `other` from now on begins with the time.
  void join(const CudaStream& other);
  /// Time of all that `stream` has been given; none when the engine had begun before.
  [[nodiscard]] std::optional<engine::Seconds> stop(const CudaStream& stream);
  /// `event` must not come before the start, and has a time.
  [[nodiscard]] engine::Seconds until(const CudaEvent& event) const {
    return between(begin_, event);
  }

 private:
  CopyPath& path_;
  CudaEvent begin_{CudaEvent::Timing::kOn};
  CudaEvent end_{CudaEvent::Timing::kOn};
};

}  // namespace hoccl::hw
