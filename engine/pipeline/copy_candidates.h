#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "engine/base/units.h"
#include "engine/pipeline/fair_share.h"
#include "engine/pipeline/operation_state.h"

namespace hoccl::engine {

/// Source flows that could copy their next chunk now, on one engine and of one class. Communicators
/// share the engine evenly. Within one: what leaves the node, first that which came from another,
/// before what stays in it (which fills the NVLink slack, paper §3.4); then the lowest stage; then
/// in proportion to flow size (chunk k of m at (k + 1/2) / m).
class CopyCandidates {
 public:
  /// Of a flow that is not queued. `turn`: lower goes first; its position, to interleave.
  void insert(SourceFlow& flow, double turn);
  /// How much the port is used that a flow's copies go to.
  using Load = std::function<int(const SourceFlow&)>;
  /// Whether a flow's next chunk may go now.
  using May = std::function<bool(const SourceFlow&)>;
  /// Takes the flow whose turn it is out of the queue, if it may go: of those of one stage that
  /// would not get far ahead of their share, the one whose target port is least
  /// used.
  SourceFlow* take(const Load& load, const May& may);
  /// Removes all flows of an operation.
  void drop(const OperationState& state);

  /// Whether a chunk waits that came from another node and goes on to a further one.
  [[nodiscard]] bool leaves_again() const;
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const;

 private:
  struct Candidate {
    int rank = 0;  ///< passing on between nodes, between nodes, passing on, inside the node
    std::int32_t stage = 0;
    double turn = 0.0;
    FlowId id;  ///< plans list a source's targets beginning with the next one, so ties spread
    std::int64_t operation = 0;  ///< of equal flows of two operations, that which is older
    SourceFlow* flow = nullptr;

    bool operator<(const Candidate& other) const;
  };

  static std::set<Candidate>::iterator choose(const std::set<Candidate>& candidates,
                                              const Load& load);

  std::map<std::uint16_t, std::set<Candidate>> waiting_;  ///< by communicator; no empty sets
  FairShare share_;
};

}  // namespace hoccl::engine
