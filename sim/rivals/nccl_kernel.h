#pragma once

#include <memory>
#include <vector>

#include "engine/base/ids.h"
#include "sim/machine/callback.h"
#include "sim/rivals/nccl_environment.h"
#include "sim/rivals/nccl_pipe.h"
#include "sim/rivals/nccl_warps.h"
#include "sim/rivals/sm_pool.h"

namespace hoccl::sim {

/// One launched kernel: a group's transfers of one rank. Holds one SM per channel it uses from its
/// start to its end, whether the channel moves bytes or polls a flag.
class NcclKernel {
 public:
  NcclKernel(const NcclEnvironment& environment, SmPool& sms, engine::Rank rank);
  NcclKernel(const NcclKernel&) = delete;
  NcclKernel& operator=(const NcclKernel&) = delete;

  /// Before start(). A part of 0 bytes uses its channel but moves nothing.
  void add_part(NcclPipe& pipe, int channel, bool sending, engine::Bytes size);

  /// The first instruction. `ended` is called when all parts are through.
  void start(Callback ended);
  /// True if it was the last one.
  bool part_finished();

  [[nodiscard]] int sm_count() const { return sm_count_; }
  [[nodiscard]] bool has_ended() const { return ended_; }

 private:
  struct Channel {
    std::unique_ptr<NcclWarps> send;
    std::unique_ptr<NcclWarps> receive;
  };

  void end();

  const NcclEnvironment& environment_;
  SmPool& sms_;
  engine::Rank rank_;
  std::vector<Channel> channels_;  ///< by number; unused ones have no warps
  std::vector<std::unique_ptr<NcclPart>> parts_;
  std::size_t unfinished_count_ = 0;
  int sm_count_ = 0;
  bool ended_ = false;
  Callback on_ended_;
};

}  // namespace hoccl::sim
