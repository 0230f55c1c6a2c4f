#include "sim/machine/network.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "sim/machine/clock.h"
#include "sim/machine/cm02_network.h"
#include "sim/machine/fluid_network.h"

namespace hoccl::sim {
namespace {

constexpr std::uint32_t kEmptyEntry = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t kInitialTableSize = 64;  // a power of two

std::size_t hash_links(std::span<const LinkId> links) {
  std::uint64_t hash = links.size();
  for (const LinkId link : links) {
    hash = (hash ^ static_cast<std::uint64_t>(link.value())) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace

NetworkKind parse_network_kind(std::string_view text) {
  if (text == "cm02") return NetworkKind::kCm02;
  if (text == "fluid") return NetworkKind::kFluid;
  throw engine::ConfigError(
      fmt::format("unknown network model '{}', expected cm02 or fluid", text));
}

std::string_view to_string(NetworkKind kind) {
  switch (kind) {
    case NetworkKind::kCm02:
      return "cm02";
    case NetworkKind::kFluid:
      return "fluid";
  }
  HOCCL_CHECK(false, "network kind {}", static_cast<int>(kind));
  return {};
}

std::unique_ptr<Network> make_network(NetworkKind kind, Clock& clock) {
  switch (kind) {
    case NetworkKind::kCm02:
      return make_cm02_network(clock);
    case NetworkKind::kFluid:
      return make_fluid_network(clock);
  }
  HOCCL_CHECK(false, "network kind {}", static_cast<int>(kind));
  return nullptr;
}

LinkId Network::add_link(std::string name, engine::BytesPerSecond capacity) {
  HOCCL_CHECK(flow_count_ == 0, "link {} added after the first flow", name);
  HOCCL_CHECK(capacity.value() > 0.0 && std::isfinite(capacity.value()), "link {}: capacity {} B/s",
              name, capacity.value());
  const LinkId link(links_.size());
  links_.push_back({std::move(name), capacity, engine::Bytes(0)});
  on_link_added(link);
  return link;
}

RouteId Network::add_route(std::span<const LinkId> links) {
  HOCCL_CHECK(!links.empty() && links.size() <= kMaxRouteLinks, "route of {} links", links.size());
  if ((routes_.size() + 1) * 2 > route_table_.size()) grow_route_table();
  const std::size_t mask = route_table_.size() - 1;
  std::size_t entry = hash_links(links) & mask;
  for (; route_table_[entry] != kEmptyEntry; entry = (entry + 1) & mask) {
    const RouteId known(route_table_[entry]);
    if (std::ranges::equal(this->links(known), links)) return known;
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    HOCCL_CHECK(links[i].index() < links_.size(), "no link {}", links[i].value());
    HOCCL_CHECK(std::ranges::count(links, links[i]) == 1, "link {} twice in one route",
                name(links[i]));
  }
  const RouteId route(routes_.size());
  route_table_[entry] = static_cast<std::uint32_t>(route.value());
  routes_.push_back(
      {static_cast<std::uint32_t>(route_links_.size()), static_cast<std::uint32_t>(links.size())});
  route_links_.insert(route_links_.end(), links.begin(), links.end());
  return route;
}

void Network::grow_route_table() {
  const std::size_t size = std::max(kInitialTableSize, route_table_.size() * 2);
  route_table_.assign(size, kEmptyEntry);
  for (std::size_t index = 0; index < routes_.size(); ++index) {
    std::size_t entry = hash_links(links(RouteId(index))) & (size - 1);
    while (route_table_[entry] != kEmptyEntry) entry = (entry + 1) & (size - 1);
    route_table_[entry] = static_cast<std::uint32_t>(index);
  }
}

FlowHandle Network::start(RouteId route, engine::Bytes size, Callback done,
                          engine::BytesPerSecond rate_limit) {
  HOCCL_CHECK(route.index() < routes_.size(), "no route {}", route.value());
  HOCCL_CHECK(size.count() >= 0, "flow of {} bytes", size.count());
  HOCCL_CHECK(rate_limit.value() > 0.0, "rate limit of {} B/s", rate_limit.value());
  const std::uint64_t id = flow_count_++;
  // SimGrid never starts an empty Comm.
  if (size.count() == 0) {
    clock_.after(engine::Seconds(0.0), done);
    return {};
  }
  return start_flow(id, route, size, done, rate_limit.value());
}

void Network::set_capacity(LinkId link, engine::BytesPerSecond capacity) {
  HOCCL_CHECK(capacity.value() > 0.0 && std::isfinite(capacity.value()), "link {}: capacity {} B/s",
              name(link), capacity.value());
  links_[link.index()].capacity = capacity;
  on_capacity_changed(link);
}

engine::BytesPerSecond Network::capacity(LinkId link) const {
  HOCCL_CHECK(link.index() < links_.size(), "no link {}", link.value());
  return links_[link.index()].capacity;
}

const std::string& Network::name(LinkId link) const {
  HOCCL_CHECK(link.index() < links_.size(), "no link {}", link.value());
  return links_[link.index()].name;
}

engine::Bytes Network::carried(LinkId link) const {
  HOCCL_CHECK(link.index() < links_.size(), "no link {}", link.value());
  return links_[link.index()].carried;
}

std::span<const LinkId> Network::links(RouteId route) const {
  const Route& entry = routes_[route.index()];
  return {route_links_.data() + entry.first, entry.count};
}

void Network::count_carried(RouteId route, engine::Bytes size) {
  for (const LinkId link : links(route)) links_[link.index()].carried += size;
}

}  // namespace hoccl::sim
