#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/fabric.h"
#include "engine/pattern/flow.h"
#include "engine/pipeline/fair_share.h"
#include "engine/pipeline/options.h"
#include "engine/pipeline/patience.h"

namespace hoccl::engine {

struct OperationState;
struct SourceFlow;

/// Has NICs write the chunks of this rank's registered flows straight from its buffers into their
/// targets', with no slot between.
///
/// Who goes first: foreground; then the communicator that was served least; then the lowest stage;
/// then the target with the fewest writes in flight, so that one that many send to does not fill
/// the NIC's depth; then flows in proportion to their size (paper §3.4).
class RegisteredSender {
 public:
  RegisteredSender(Port& port, const PipelineOptions& options);

  /// Its first waiting chunk may go. Not to be offered twice.
  void offer(SourceFlow& flow);
  /// Forgets what the operation's flows have offered.
  void drop(const OperationState& state);
  /// Posts writes as far as the NICs have room. Tells `posted` of each flow, which may be
  /// offered again then.
  template <class Posted>
  void act(Posted posted) {
    for (auto& [id, nic] : nics_) {
      while (SourceFlow* flow = post_one(nic)) posted(*flow);
      watch(nic);
    }
  }

  /// A write that ended, and whether it failed.
  struct Ended {
    SourceFlow* flow = nullptr;
    std::int64_t chunk = 0;
    Outcome outcome = Outcome::kOk;
  };
  [[nodiscard]] bool owns(QueuePairId queue_pair) const {
    return queue_pairs_.contains(queue_pair);
  }
  /// Appends the writes a completion ends, oldest first.
  void complete(const WritesDone& done, std::vector<Ended>& ended);

  [[nodiscard]] bool idle() const;

 private:
  struct Link;

  struct Waiting {
    std::int32_t stage;
    double position;
    std::int64_t order;  ///< first come, first served
    SourceFlow* flow;

    bool operator<(const Waiting& other) const {
      return std::tie(stage, position, order) < std::tie(other.stage, other.position, other.order);
    }
  };
  using Sharer = std::pair<FlowClass, std::uint16_t>;  ///< class, communicator

  struct Job {
    SourceFlow* flow = nullptr;
    std::int64_t chunk = 0;
  };
  struct QueuePair {
    QueuePairId id;
    Link* link = nullptr;
    Ticket last_done{0};
    std::deque<Job> in_flight;  ///< oldest first
  };
  struct Nic {
    int in_flight = 0;
    std::vector<Link*> links;
    std::size_t next_link = 0;
    FairShare share;
    Patience patience;
  };
  /// All that goes from one NIC of ours to one NIC of one rank.
  struct Link {
    Nic* nic = nullptr;
    std::vector<QueuePair*> queue_pairs;
    int in_flight = 0;
    std::map<Sharer, std::set<Waiting>> waiting;  ///< no empty sets
  };
  /// What may go next.
  struct Choice {
    Sharer sharer;
    Link* link = nullptr;
    QueuePair* queue_pair = nullptr;
    std::size_t index = 0;  ///< of the link at its NIC
  };

  Link& link_of(const SourceFlow& flow);
  [[nodiscard]] bool has_room(const Link& link, const SourceFlow& flow) const;
  [[nodiscard]] std::optional<Choice> choose(const Nic& nic) const;
  SourceFlow* post_one(Nic& nic);
  void post(QueuePair& queue_pair, SourceFlow& flow);
  void watch(Nic& nic) const;

  Port& port_;
  const PipelineOptions& options_;
  std::map<NicId, Nic> nics_;
  std::map<std::tuple<NicId, NicId, Rank>, Link> links_;
  std::unordered_map<QueuePairId, QueuePair> queue_pairs_;
  std::int64_t next_order_ = 0;
};

}  // namespace hoccl::engine
