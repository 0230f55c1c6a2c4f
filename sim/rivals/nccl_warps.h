#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "sim/rivals/nccl_copy_loop.h"
#include "sim/rivals/nccl_pipe.h"

namespace hoccl::sim {

/// The sending or the receiving warps of one channel of a kernel of sends and receives. They copy
/// one slice at a time, of the parts in turn.
class NcclWarps : public NcclWorker {
 public:
  NcclWarps(const NcclEnvironment& environment, engine::Rank rank, int channel)
      : loop_(environment, rank, channel) {}
  NcclWarps(const NcclWarps&) = delete;
  NcclWarps& operator=(const NcclWarps&) = delete;

  void add(NcclPart& part) { parts_.push_back(&part); }
  void serve() override;

 private:
  void copied();

  NcclCopyLoop loop_;
  std::vector<NcclPart*> parts_;
  std::size_t next_ = 0;  ///< whose turn it is
  NcclPart* current_ = nullptr;
  engine::Bytes slice_;
};

}  // namespace hoccl::sim
