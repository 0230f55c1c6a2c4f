#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/compile.h"

namespace hoccl::engine {

std::string_view to_string(Order order) {
  switch (order) {
    case Order::kCritical:
      return "critical";
    case Order::kBvn:
      return "bvn";
    case Order::kRotation:
      return "rotation";
    case Order::kLocal:
      return "local";
  }
  HOCCL_CHECK(false, "order {}", static_cast<int>(order));
}

std::string_view to_string(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kMulticast:
      return "multicast";
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kP2p:
      return "p2p";
  }
  HOCCL_CHECK(false, "algorithm {}", static_cast<int>(algorithm));
}

Order default_order(std::string_view pattern, Forwarding forwarding) {
  const bool local = pattern == kAllToAllVName || forwarding == Forwarding::kOwnNic;
  return local ? Order::kLocal : Order::kCritical;
}

Order parse_order(std::string_view name) {
  for (const Order order : {Order::kCritical, Order::kBvn, Order::kRotation, Order::kLocal}) {
    if (name == to_string(order)) return order;
  }
  throw ConfigError(fmt::format("order = '{}': expected critical, bvn, rotation or local", name));
}

Algorithm parse_algorithm(std::string_view name) {
  for (const Algorithm algorithm : {Algorithm::kMulticast, Algorithm::kRing, Algorithm::kP2p}) {
    if (name == to_string(algorithm)) return algorithm;
  }
  throw ConfigError(fmt::format("algorithm = '{}': expected multicast, ring or p2p", name));
}

}  // namespace hoccl::engine
