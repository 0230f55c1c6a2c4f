#pragma once

#include <chrono>
#include <memory>

namespace hoccl::hw {

/// Holds every SM of this thread's GPU, so that no kernel can start: what still ends needs no SM.
/// Construct it before work that waits at a gate, and hold it for much less than `limit`, after
/// which the GPU frees itself whatever the host does.
class SmHolder {
 public:
  /// Throws CudaError when not every SM could be taken within a second (other work is running), or
  /// when a kernel runs beside.
  explicit SmHolder(std::chrono::milliseconds limit = std::chrono::seconds(2));
  /// Releases.
  ~SmHolder();
  SmHolder(const SmHolder&) = delete;
  SmHolder& operator=(const SmHolder&) = delete;

  /// Every SM is full now: all blocks run and a kernel launched behind them has not begun. Ask
  /// after what is to be proven, too.
  [[nodiscard]] bool holds_all() const;
  /// Waits until the SMs are free again. Throws CudaError.
  void release();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hoccl::hw
