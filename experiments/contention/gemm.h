#pragma once

#include <memory>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::contention {

enum class MatrixData { kRandom, kZeros };

/// C = A·B of square bf16 matrices by cuBLAS, on a stream of its own of this thread's GPU.
class Gemm {
 public:
  /// Throws CudaError.
  Gemm(int order, MatrixData data);
  ~Gemm();
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  struct Burst {
    std::vector<engine::Seconds> times;  ///< from the end of one product to the end of the next
    std::vector<double> sm_clock_mhz;    ///< read by a kernel between the products
  };
  /// `groups` times: ten products back to back, then 50 us in which an SM reads its clock.
  [[nodiscard]] Burst run(int groups);

  /// Products without a pause; `enqueue_one` keeps up to 32 ahead and returns the time of the one
  /// that has ended, if it waited for one (zero otherwise).
  [[nodiscard]] engine::Seconds enqueue_one();

  /// Of one product.
  [[nodiscard]] double operations() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hoccl::contention
