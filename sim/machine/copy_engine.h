#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "sim/machine/clock.h"
#include "sim/machine/network.h"

namespace hoccl::sim {

/// A lane of one copy engine: what a GPU stream that only copies is to the engine.
using LaneId = engine::StrongId<struct LaneTag>;

struct CopyEngineParameters {
  engine::Seconds launch_latency{0.0};  ///< post to earliest start; pipelined, occupies nothing
  engine::Seconds setup{0.0};           ///< occupies the engine before the bytes of a copy move
  engine::Seconds setup_in_batch{0.0};  ///< instead of `setup`, 2nd and later copies of a batch
  /// Fraction of a setup, 0 to 1, that can be done while the previous copy still transfers.
  double setup_overlap = 0.0;
  /// Lanes served at once; 1 = one copy at a time over all lanes, in order of arrival.
  int concurrency = 1;
  engine::Seconds completion_latency{0.0};  ///< end of the transfer to the callback; pipelined
};

struct Copy {
  RouteId route;
  engine::Bytes size;
  Callback done;
  std::uint64_t tag = 0;  ///< handed to the observer
  engine::BytesPerSecond rate_limit = kNoRateLimit;
};

/// One copy as the engine executed it. Intervals of one server never overlap: with setup_overlap
/// `begin` is not before the end of the previous transfer.
struct CopyInterval {
  engine::Seconds begin;  ///< start of the setup
  engine::Seconds end;    ///< end of the transfer
  LaneId lane;
  int server = 0;  ///< which of the `concurrency` servers
  engine::Bytes size;
  std::uint64_t tag = 0;
};

class CopyObserver {
 public:
  virtual ~CopyObserver() = default;
  virtual void copied(const CopyInterval& interval) = 0;
};

/// The DMA unit of one GPU and copy class. Copies of one lane are executed one after the other in
/// order; waiting lanes are served in order of the arrival of their first copy. On a server whose
/// previous transfer started at P and ended at E, the bytes of a copy that is ready (post + launch
/// latency) at R move from
///   max(max(R, P) + setup, E + (1 - overlap) * setup).
class CopyEngine {
 public:
  CopyEngine(Clock& clock, Network& network, const CopyEngineParameters& parameters);
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;

  LaneId add_lane();
  /// Posts the copies of one flush at the present instant. The batch pays the full setup once and
  /// completes as one: all `done` are called, in order, when its last copy is complete and told.
  void submit(LaneId lane, std::span<const Copy> batch);

  void set_observer(CopyObserver* observer) { observer_ = observer; }
  /// Time with at least one server in setup or transfer; what is in progress does not count yet.
  [[nodiscard]] engine::Seconds busy_time() const { return busy_; }
  /// Copies submitted whose `done` was not called yet.
  [[nodiscard]] std::size_t pending_count() const { return pending_count_; }

 private:
  struct Item {
    Copy copy;
    engine::Seconds ready;
    std::uint64_t sequence = 0;  ///< order of submission over all lanes
    bool first_of_batch = false;
    bool last_of_batch = false;
  };
  struct Lane {
    std::deque<Item> queue;          ///< not begun
    std::vector<Callback> finished;  ///< copies of the running batch that have ended
    std::size_t last_server = 0;
    bool is_served = false;
  };
  struct Server {
    LaneId lane;
    Item item;
    engine::Seconds begin{0.0};
    engine::Seconds transfer_start{0.0};
    engine::Seconds free_at{0.0};
    bool is_busy = false;
  };

  void head_ready(std::uint64_t lane);
  void lane_freed(LaneId lane);
  void wait_for_server(LaneId lane);
  void dispatch();
  [[nodiscard]] std::size_t choose_server(const Lane& lane) const;
  void serve(std::size_t server_index, LaneId lane_id);
  void begin_transfer(std::uint64_t server_index);
  void transfer_ended(std::uint64_t server_index);
  void finish_batch(Lane& lane);
  void batch_complete(std::uint64_t batch);

  Clock& clock_;
  Network& network_;
  CopyEngineParameters parameters_;
  CopyObserver* observer_ = nullptr;
  std::vector<Lane> lanes_;
  std::vector<Server> servers_;
  std::vector<LaneId> waiting_;  ///< lanes whose head is ready, by (ready, sequence) of the head
  std::vector<std::vector<Callback>> complete_batches_;  ///< until the completion latency is over
  std::vector<std::uint64_t> free_batches_;              ///< unused entries of complete_batches_
  std::uint64_t next_sequence_ = 0;
  std::size_t pending_count_ = 0;
  int busy_servers_ = 0;
  engine::Seconds busy_since_{0.0};
  engine::Seconds busy_{0.0};
};

}  // namespace hoccl::sim
