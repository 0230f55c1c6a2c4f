#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/schedule/demand.h"
#include "engine/schedule/rail_map.h"

namespace hoccl::engine {

/// How much each rail may carry, so that no GPU relays when its NVLink is busy all the time with
/// what it sends and receives itself. In formulas B is a NIC, V NVLink per direction, own_i the
/// bytes into GPU i for itself. In a time T the GPU can take max(0, V T - own_i) for others to
/// send, and its NIC B T of them; T is the shortest in which every node gets rid of what it has to
/// send, and of what it receives (the same with bytes out of the GPU). Up to these limits rails
/// carry equally much.
class RailLimits {
 public:
  /// No limits: NICs are the narrower port everywhere, or slots lie in host memory.
  RailLimits() = default;
  /// Nodes must pair their NICs rail by rail (RailMap::nodes_are_ports). Keeps references.
  RailLimits(const Demand& demand, const RailMap& rails);

  /// By rail, what counts as carried already when the bytes from one node to the other are spread
  /// evenly; empty where that is nothing. Valid until the next call.
  std::span<const std::int64_t> already_carried(NodeId source, NodeId target);

 private:
  /// One direction of one node.
  struct Side {
    struct Rail {
      double rate = 0.0;    ///< of the NIC
      double own = 0.0;     ///< bytes of the GPU next to it
      double beside = 1.0;  ///< NICs of that GPU
    };
    double total = 0.0;   ///< bytes to or from other nodes
    double nvlink = 0.0;  ///< per GPU
    std::vector<Rail> rails;
    std::vector<double> limits;  ///< by rail, in bytes
  };
  [[nodiscard]] Side side_of(NodeId node, bool sends) const;
  [[nodiscard]] static std::vector<double> limits_at(const Side& side, double time);
  [[nodiscard]] static double shortest_time(const Side& side);

  const Demand* demand_ = nullptr;
  const RailMap* rails_ = nullptr;
  bool needed_ = false;
  std::vector<Side> sending_;    ///< by node
  std::vector<Side> receiving_;  ///< by node
  std::vector<std::int64_t> carried_;
};

}  // namespace hoccl::engine
