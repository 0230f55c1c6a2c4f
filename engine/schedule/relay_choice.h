#pragma once

#include <cstddef>
#include <vector>

#include "engine/schedule/compile.h"
#include "engine/schedule/multicast.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// When the ranks that get a multicast should help to spread it: where its source, or the source's
/// node, has clearly more to push than others, as in a broadcast. In an AllGather all have the
/// same, and help would only add hops.
class RelayChoice {
 public:
  RelayChoice(const RailMap& rails, const CompileOptions& options,
              const std::vector<Multicast>& multicasts);

  /// Local targets pass parts on to each other, and stage them.
  [[nodiscard]] bool exchange(const Multicast& multicast) const;
  /// How many nodes get a part each, which they pass on to the others; 0: none.
  [[nodiscard]] std::size_t hubs(const Multicast& multicast) const;

 private:
  const RailMap& rails_;
  const CompileOptions& options_;
  // Bytes pushed over NVLink if nobody helps.
  std::vector<double> pushed_by_rank_;
  std::vector<double> mean_push_;  // by node, of the ranks that take part
  // Bytes that leave a node.
  std::vector<double> sent_by_node_;
  double mean_sent_ = 0;
};

}  // namespace hoccl::engine
