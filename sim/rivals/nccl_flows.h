#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/collective_system.h"
#include "sim/fabric/sim_port.h"
#include "sim/machine/sm_pool.h"
#include "sim/rivals/nccl_environment.h"

namespace hoccl::sim {

/// A communicator of NCCL's, as NcclFlows tells them apart.
struct NcclFlowGroup {
  int id = 0;                         ///< unique; the same on all members
  std::vector<engine::Rank> members;  ///< ascending
  TrafficClass traffic = TrafficClass::kOther;
  int channels = 1;       ///< of each of its kernels
  bool holds_sms = true;  ///< one per channel; false: a what-if

  [[nodiscard]] int sms() const { return holds_sms ? channels : 0; }
};

/// NCCL's kernels at the scale of training steps: one flow per message and per hop of a ring, at
/// the rate that the kernel's channels reach with NCCL's slices (NcclJob simulates those; tests
/// hold this model against it). A kernel holds its SMs from its start to its end, also while it
/// waits for a peer that has not come.
class NcclFlows {
 public:
  /// `sms` and what `port` returns must outlive it. A GPU has `capacity` SMs: a kernel that finds
  /// too few free waits for others to end. `ideal`: kernels take no time and no SMs.
  NcclFlows(NcclEnvironment environment, SmPool& sms, std::function<SimPort&(engine::Rank)> port,
            int capacity, bool ideal = false);
  ~NcclFlows();

  /// What one rank asks of a kernel.
  struct Request {
    enum class Kind : std::uint8_t { kMessages, kAllGather, kReduceScatter, kAllReduce, kAllToAll };
    Kind kind = Kind::kMessages;
    std::vector<engine::SendRecvRequest> messages = {};  ///< peers are positions in the group
    engine::Bytes size = {};  ///< of the whole result; all-to-all: of the sender's buffer
  };
  /// Calls of a group's ranks match in their order, messages in the order of each pair.
  std::shared_ptr<engine::Work> launch(const NcclFlowGroup& group, engine::Rank rank,
                                       Request request, engine::StreamId stream);

  /// Bytes that kernels have moved through the GPU's memory.
  [[nodiscard]] engine::Bytes moved(engine::GpuId gpu) const { return moved_[gpu.index()]; }
  [[nodiscard]] bool is_quiescent() const { return kernels_.empty(); }

 private:
  struct Kernel;
  struct Hop {
    engine::Rank source;
    engine::Rank target;
    engine::Bytes size;
    std::vector<std::uint64_t> kernels;  ///< that it is part of
    engine::Seconds latency{0.0};        ///< after the last byte
    double share = 1.0;                  ///< of the kernel's channels, see rate()
  };
  struct Half {
    std::uint64_t kernel = 0;
    engine::Bytes size;
    int beside = 1;  ///< messages of its kernel in the same direction
  };
  using Pair = std::tuple<int, engine::Rank, engine::Rank>;
  struct Halves {
    std::deque<Half> sends;
    std::deque<Half> receives;
  };
  struct Meeting {
    std::vector<std::uint64_t> kernels;
    engine::Bytes size;
  };

  void stream_arrived(std::uint64_t kernel);
  [[nodiscard]] bool has_room(const Kernel& kernel) const;
  void hold(std::uint64_t kernel);
  void admit(engine::GpuId gpu);
  void begin(std::uint64_t kernel);
  void join_messages(std::uint64_t number, Kernel& kernel);
  void join_collective(std::uint64_t number, Kernel& kernel);
  void begin_collective(const Kernel& any, const Meeting& meeting);
  void start(Hop hop);
  void hop_ended(std::uint64_t hop);
  void hop_arrived(std::uint64_t hop);
  void part_ended(std::uint64_t kernel);
  [[nodiscard]] RouteId route(engine::Rank source, engine::Rank target) const;
  [[nodiscard]] bool is_local(engine::Rank source, engine::Rank target) const;
  /// Of `channels` copying slices between these ranks. `share`: of them, or of their time, for this
  /// hop: several messages of a kernel share its channels; in a ring one step does not send.
  [[nodiscard]] engine::BytesPerSecond rate(engine::Rank source, engine::Rank target, int channels,
                                            double share) const;
  [[nodiscard]] engine::Seconds step_latency(engine::Rank source, engine::Rank target) const;

  NcclEnvironment environment_;
  SmPool& sms_;
  std::function<SimPort&(engine::Rank)> port_;
  int capacity_;
  bool ideal_;
  std::vector<std::deque<std::uint64_t>> waiting_;            ///< kernels without room, by GPU
  std::vector<engine::Bytes> moved_;                          ///< by GPU
  std::map<std::uint64_t, std::unique_ptr<Kernel>> kernels_;  ///< launched, not ended
  std::uint64_t next_kernel_ = 0;
  std::map<std::uint64_t, Hop> hops_;  ///< under way
  std::uint64_t next_hop_ = 0;
  std::map<Pair, Halves> messages_;
  std::map<std::pair<int, std::uint64_t>, Meeting> meetings_;        ///< by group and number
  std::map<std::pair<int, engine::Rank>, std::uint64_t> next_call_;  ///< by group and rank
};

/// One rank of one group, as callers of any system see it.
class NcclFlowRank : public engine::CollectiveSystem {
 public:
  NcclFlowRank(NcclFlows& flows, NcclFlowGroup group, engine::Rank rank)
      : flows_(flows), group_(std::move(group)), rank_(rank) {}

  std::shared_ptr<engine::Work> enqueue(std::span<const engine::SendRecvRequest> messages,
                                        engine::StreamId stream) override;
  /// AllGather or AllToAll.
  std::shared_ptr<engine::Work> enqueue(const engine::CollectiveRequest& request,
                                        engine::StreamId stream) override;
  /// `size`: of what is reduced.
  std::shared_ptr<engine::Work> reduce_scatter(engine::Bytes size, engine::StreamId stream);
  std::shared_ptr<engine::Work> all_reduce(engine::Bytes size, engine::StreamId stream);

 private:
  NcclFlows& flows_;
  NcclFlowGroup group_;
  engine::Rank rank_;
};

}  // namespace hoccl::sim
