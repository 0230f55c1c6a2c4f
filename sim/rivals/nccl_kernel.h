#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/base/ids.h"
#include "sim/machine/callback.h"
#include "sim/machine/sm_pool.h"
#include "sim/rivals/nccl_environment.h"
#include "sim/rivals/nccl_pipe.h"
#include "sim/rivals/nccl_ring.h"
#include "sim/rivals/nccl_warps.h"

namespace hoccl::sim {

/// One launched kernel: a group's transfers of one rank, or one collective. Holds one SM per
/// channel it uses from its start to its end, whether the channel moves bytes or polls a flag.
class NcclKernel {
 public:
  NcclKernel(const NcclEnvironment& environment, SmPool& sms, engine::Rank rank);
  NcclKernel(const NcclKernel&) = delete;
  NcclKernel& operator=(const NcclKernel&) = delete;

  /// One side of a message of NCCL's round `round`; before start(), in the order of the rounds. A
  /// channel begins the next eight rounds when it is through with eight
  /// (NCCL_MAX_DEV_WORK_P2P_PER_BATCH). A part of 0 bytes uses its channel but moves nothing.
  void add_part(NcclPipe& pipe, int channel, bool sending, engine::Bytes size, int round);
  /// Before start(). A program of 0 bytes uses its channel but moves nothing.
  void add_ring(NcclPipe& before, NcclPipe& next, int channel, const NcclRingProgram& program);

  /// The first instruction. `ended` is called when all is through.
  void start(Callback ended);
  /// A part or a ring of the channel is. True if it was the kernel's last one.
  bool work_finished(int channel);

  [[nodiscard]] int sm_count() const { return sm_count_; }
  [[nodiscard]] bool has_ended() const { return ended_; }

 private:
  /// What a channel has at work at one time.
  struct Batch {
    std::vector<int> sends;  ///< rounds
    std::vector<int> receives;
    std::vector<NcclPart*> parts;
  };
  struct Channel {
    std::unique_ptr<NcclWarps> send;
    std::unique_ptr<NcclWarps> receive;
    std::unique_ptr<NcclRing> ring;
    std::vector<Batch> batches;
    std::size_t next_batch = 0;
    std::size_t unfinished_count = 0;  ///< of what is at work
    bool is_used = false;
  };

  Channel& channel_at(int channel);
  static Batch& batch_for(Channel& channel, bool sending, int round);
  /// Returns whether there was one.
  bool begin_next_batch(Channel& channel);
  void end();

  const NcclEnvironment& environment_;
  SmPool& sms_;
  engine::Rank rank_;
  std::vector<Channel> channels_;  ///< by number
  std::vector<std::unique_ptr<NcclPart>> parts_;
  std::size_t busy_channel_count_ = 0;
  int sm_count_ = 0;
  bool ended_ = false;
  Callback on_ended_;
};

}  // namespace hoccl::sim
