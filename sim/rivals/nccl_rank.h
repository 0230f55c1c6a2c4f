#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/collective_system.h"
#include "sim/rivals/nccl_job.h"

namespace hoccl::sim {

/// `nccl:<k>sm`: NCCL's kernels as one rank sees them. Every group and every collective is one
/// kernel on the stream; kernels of a rank run in the order in which they were enqueued, as NCCL
/// makes them do.
class NcclRank : public engine::CollectiveSystem {
 public:
  NcclRank(NcclJob& job, engine::Rank rank) : job_(job), rank_(rank) {}
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;

  std::shared_ptr<engine::Work> enqueue(std::span<const engine::SendRecvRequest> group,
                                        engine::StreamId stream) override;
  /// An alltoallv needs the matrix: NCCL's callers know what they receive.
  std::shared_ptr<engine::Work> enqueue(const engine::CollectiveRequest& request,
                                        engine::StreamId stream) override;
  /// What HOCCL leaves to NCCL. `block`: bytes of each rank's result; `size`: of the whole;
  /// `members`: ascending.
  std::shared_ptr<engine::Work> reduce_scatter(engine::Bytes block,
                                               const std::vector<engine::Rank>& members,
                                               engine::StreamId stream);
  std::shared_ptr<engine::Work> all_reduce(engine::Bytes size,
                                           const std::vector<engine::Rank>& members,
                                           engine::StreamId stream);

 private:
  struct Launch;

  template <class AddWork>
  std::shared_ptr<engine::Work> launch(engine::StreamId stream, const AddWork& add_work);
  void enqueue_on_stream(std::uint64_t launch);
  void stream_arrived(std::uint64_t launch);
  void begin_front();
  void start_front();
  void front_ended();
  void stream_goes_on();
  void record(const Launch& launch) const;

  NcclJob& job_;
  engine::Rank rank_;
  std::deque<std::shared_ptr<Launch>> launches_;  ///< not ended, in order
  std::uint64_t first_launch_ = 0;                ///< number of launches_.front()
  std::shared_ptr<Launch> last_ended_;  ///< kept until the next ends: its warps are on the stack
};

}  // namespace hoccl::sim
