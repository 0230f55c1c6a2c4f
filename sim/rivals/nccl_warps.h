#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "sim/rivals/nccl_environment.h"
#include "sim/rivals/nccl_pipe.h"

namespace hoccl::sim {

/// The sending or the receiving warps of one channel of a kernel: one SM's copy loop. Copies one
/// slice at a time, of the parts in turn: a step's overhead (wait for the flag, fence, set the
/// flag), then the bytes at no more than one channel's rate.
class NcclWarps {
 public:
  NcclWarps(const NcclEnvironment& environment, engine::Rank rank, int channel)
      : environment_(environment), rank_(rank), channel_(channel) {}
  NcclWarps(const NcclWarps&) = delete;
  NcclWarps& operator=(const NcclWarps&) = delete;

  void add(NcclPart& part) { parts_.push_back(&part); }
  /// Begins the next slice if the warps are free and one is ready.
  void serve();

 private:
  void copy();
  void copied();
  void record() const;

  const NcclEnvironment& environment_;
  engine::Rank rank_;
  int channel_;
  std::vector<NcclPart*> parts_;
  std::size_t next_ = 0;  ///< whose turn it is
  NcclPart* current_ = nullptr;
  engine::Bytes slice_;
  engine::Seconds begin_{0.0};
};

}  // namespace hoccl::sim
