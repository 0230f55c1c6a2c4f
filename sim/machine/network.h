#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "sim/machine/callback.h"

namespace hoccl::sim {

class Clock;

/// Which model shares the links: SimGrid's own (`cm02`) or our max-min solver (`fluid`, for scale).
enum class NetworkKind : std::uint8_t { kCm02, kFluid };

/// "cm02" or "fluid"; anything else throws ConfigError that says what was expected.
NetworkKind parse_network_kind(std::string_view text);
std::string_view to_string(NetworkKind kind);

using LinkId = engine::StrongId<struct LinkTag>;
/// A declared sequence of links.
using RouteId = engine::StrongId<struct RouteTag>;

/// A flow in progress. Stale handles are recognised.
struct FlowHandle {
  std::uint32_t slot = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t generation = 0;

  bool operator==(const FlowHandle&) const = default;
};

inline constexpr engine::BytesPerSecond kNoRateLimit{std::numeric_limits<double>::infinity()};

/// Directed links shared by flows, exactly max-min fair (each flow also held below its own rate
/// limit), without latency: latencies are the callers' events. Links and routes may be added until
/// the first flow starts; routes also later.
class Network {
 public:
  static constexpr std::size_t kMaxRouteLinks = 12;

  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// `name` must be unique, `capacity` positive.
  LinkId add_link(std::string name, engine::BytesPerSecond capacity);
  /// 1 to kMaxRouteLinks distinct links. The same links in the same order give the same id.
  RouteId add_route(std::span<const LinkId> links);

  /// `done` is called at the completion. A flow of 0 bytes completes at the present instant, but
  /// never inside this call.
  FlowHandle start(RouteId route, engine::Bytes size, Callback done,
                   engine::BytesPerSecond rate_limit = kNoRateLimit);
  /// Ends the flow now without calling `done`; the bytes moved so far stay counted. False if it
  /// has completed (its callback was called or is about to be called) or was cancelled before.
  virtual bool cancel(FlowHandle flow) = 0;
  /// Flows in progress get their new shares from now on. `capacity` must be positive: a dead link
  /// is modelled by cancelling its flows.
  void set_capacity(LinkId link, engine::BytesPerSecond capacity);

  [[nodiscard]] engine::BytesPerSecond capacity(LinkId link) const;
  [[nodiscard]] const std::string& name(LinkId link) const;
  [[nodiscard]] std::size_t link_count() const { return links_.size(); }
  /// Bytes of all flows that have completed over `link`, and the moved part of cancelled ones.
  [[nodiscard]] engine::Bytes carried(LinkId link) const;
  [[nodiscard]] std::span<const LinkId> links(RouteId route) const;
  /// Flows started so far; also the id of the next flow.
  [[nodiscard]] std::uint64_t flow_count() const { return flow_count_; }

 protected:
  explicit Network(Clock& clock) : clock_(clock) {}

  virtual void on_link_added(LinkId link) = 0;
  virtual void on_capacity_changed(LinkId link) = 0;
  virtual FlowHandle start_flow(std::uint64_t id, RouteId route, engine::Bytes size, Callback done,
                                double rate_limit) = 0;
  void count_carried(RouteId route, engine::Bytes size);

  Clock& clock_;

 private:
  struct Link {
    std::string name;
    engine::BytesPerSecond capacity;
    engine::Bytes carried;
  };
  struct Route {
    std::uint32_t first = 0;  ///< into route_links_
    std::uint32_t count = 0;
  };

  std::vector<Link> links_;
  std::vector<Route> routes_;
  std::vector<LinkId> route_links_;
  std::vector<std::uint32_t> route_table_;  ///< open-addressed hash of routes, by their links
  std::uint64_t flow_count_ = 0;

  void grow_route_table();
};

/// One per clock. The network must outlive the run.
std::unique_ptr<Network> make_network(NetworkKind kind, Clock& clock);

}  // namespace hoccl::sim
