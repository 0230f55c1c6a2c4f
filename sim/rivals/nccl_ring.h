#pragma once

#include <cstdint>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "sim/rivals/nccl_copy_loop.h"
#include "sim/rivals/nccl_pipe.h"

namespace hoccl::sim {

/// What goes round a ring (NCCL 2.30,
/// src/device/{all_gather,reduce_scatter,all_reduce,broadcast}.h).
enum class NcclRingKind : std::uint8_t { kAllGather, kReduceScatter, kAllReduce, kBroadcast };

/// One channel's part of a ring collective on one rank.
struct NcclRingProgram {
  NcclRingKind kind = NcclRingKind::kAllGather;
  int rank_count = 2;
  int position = 0;     ///< broadcast: 0 is the root
  engine::Bytes block;  ///< this channel's bytes of each rank's block; broadcast: of the message
  engine::Bytes slice;  ///< largest piece that is passed on as one

  /// Pieces of one round through the ring: each is received, sent or both.
  [[nodiscard]] int steps() const;
  [[nodiscard]] bool receives(int step) const;
  [[nodiscard]] bool sends(int step) const;
  /// Of all steps together.
  [[nodiscard]] engine::Bytes received() const;
  [[nodiscard]] engine::Bytes sent() const;
};

/// One channel of a ring collective: one SM that takes the slices of its blocks through the ring,
/// each step in one pass: out of the FIFO of the rank before, into the result, into the FIFO of the
/// next. A reduction reads its own data beside it, at the same rate.
class NcclRing : public NcclWorker {
 public:
  NcclRing(const NcclEnvironment& environment, NcclKernel& kernel, engine::Rank rank, int channel,
           NcclPipe& before, NcclPipe& next, const NcclRingProgram& program);
  NcclRing(const NcclRing&) = delete;
  NcclRing& operator=(const NcclRing&) = delete;

  /// The kernel has begun.
  void open();
  void serve() override;

 private:
  void copied();
  [[nodiscard]] bool has_ended() const { return done_ >= program_.block; }

  NcclKernel& kernel_;
  NcclRingProgram program_;
  NcclCopyLoop loop_;
  NcclPart receive_;
  NcclPart send_;
  engine::Bytes done_;   ///< of the block
  engine::Bytes slice_;  ///< of the round at work
  int step_ = 0;
  bool busy_ = false;
};

}  // namespace hoccl::sim
