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
/// share the engine evenly. Within one: what leaves the node before what stays in it (which fills
/// the NVLink slack, paper §3.4); then the lowest stage; then in proportion to flow size (chunk k
/// of m at (k + 1/2) / m).
class CopyCandidates {
 public:
  /// Of a flow that is not queued.
  void insert(SourceFlow& flow);
  /// Takes the flow whose turn it is out of the queue: of those of one stage that would not get
  /// more than two chunks ahead of their share, the one whose target port is least used, as `load`
  /// tells. Needs one.
  SourceFlow& take(const std::function<int(const SourceFlow&)>& load);
  /// Removes all flows of an operation.
  void drop(const OperationState& state);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const;

 private:
  struct Candidate {
    int rank = 0;  ///< between nodes, passing on, inside the node
    std::int32_t stage = 0;
    double position = 0.0;
    FlowId id;  ///< plans list a source's targets beginning with the next one, so ties spread
    std::int64_t operation = 0;  ///< of equal flows of two operations, that which is older
    SourceFlow* flow = nullptr;

    bool operator<(const Candidate& other) const;
  };

  std::map<std::uint16_t, std::set<Candidate>> waiting_;  ///< by communicator; no empty sets
  FairShare share_;
};

}  // namespace hoccl::engine
