#pragma once

#include <fmt/format.h>

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace hoccl::engine {

/// An index that cannot be mixed with another kind of index. `none()` is the absent value.
template <class Tag, class Value = std::int32_t>
class StrongId {
 public:
  using value_type = Value;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Value value) : value_(value) {}
  template <class Other>
  requires(!std::same_as<Other, Value> &&
           std::is_integral_v<Other>) constexpr explicit StrongId(Other value)
      : value_(static_cast<Value>(value)) {}

  static constexpr StrongId none() { return StrongId(); }

  [[nodiscard]] constexpr Value value() const { return value_; }
  /// For indexing a vector.
  [[nodiscard]] constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
  [[nodiscard]] constexpr bool is_none() const { return value_ == static_cast<Value>(-1); }

  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  Value value_ = static_cast<Value>(-1);
};

/// One process of the job.
using Rank = StrongId<struct RankTag>;
/// One host with its GPUs; on a single-GPU topology, one logical node per rank.
using NodeId = StrongId<struct NodeTag>;
/// A GPU as an end point, cluster-wide. Several may share one physical device.
using GpuId = StrongId<struct GpuTag>;
/// A NIC, cluster-wide.
using NicId = StrongId<struct NicTag>;
/// Where staging slots live: a GPU's memory or a node's host memory.
using PlaceId = StrongId<struct PlaceTag>;
/// A flow of one plan: index into Plan::transfers.
using FlowId = StrongId<struct FlowTag>;
/// A staging slot of one pool of one place.
using SlotId = StrongId<struct SlotTag>;
/// A GPU stream, as the application numbers them.
using StreamId = StrongId<struct StreamTag>;
/// A queue pair of one port.
using QueuePairId = StrongId<struct QueuePairTag>;
/// A posted copy or write, growing per lane or queue pair from 1.
using Ticket = StrongId<struct TicketTag, std::int64_t>;

}  // namespace hoccl::engine

template <class Tag, class Value>
struct std::hash<hoccl::engine::StrongId<Tag, Value>> {
  std::size_t operator()(hoccl::engine::StrongId<Tag, Value> id) const noexcept {
    return std::hash<Value>{}(id.value());
  }
};

template <class Tag, class Value>
struct fmt::formatter<hoccl::engine::StrongId<Tag, Value>> : fmt::formatter<Value> {
  template <class Context>
  auto format(hoccl::engine::StrongId<Tag, Value> id, Context& context) const {
    return fmt::formatter<Value>::format(id.value(), context);
  }
};
