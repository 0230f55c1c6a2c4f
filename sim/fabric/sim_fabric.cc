#include "sim/fabric/sim_fabric.h"

#include "engine/base/check.h"
#include "sim/fabric/sim_port.h"

namespace hoccl::sim {

using engine::NicId;
using engine::PlaceId;
using engine::Rank;
using engine::Seconds;

SimFabric::SimFabric(const engine::Topology& topology, const Calibration& calibration,
                     const SimOptions& options)
    : world_(std::make_unique<World>(topology, calibration, options.network, options.trace)) {
  if (options.one_process) world_->driver_lock = std::make_unique<DriverLock>(world_->clock);
  add_staging(options);
  for (int rank = 0; rank < topology.rank_count(); ++rank) {
    ports_.push_back(std::make_unique<SimPort>(*world_, Rank(rank)));
    world_->ports.push_back(ports_.back().get());
  }
}

SimFabric::~SimFabric() = default;

void SimFabric::add_staging(const SimOptions& options) {
  for (int number = 0; number < world_->topology.place_count(); ++number) {
    const PlaceId place(number);
    engine::StagingPlace staging{.place = place,
                                 .host = world_->topology.host_of(place),
                                 .send_slots = {},
                                 .receive_slots = {},
                                 .send_slot_count = options.slots,
                                 .receive_slot_count = options.slots,
                                 .slot_size = options.slot_size};
    if (!staging.host.is_none()) {
      const engine::Bytes pool = options.slot_size * std::int64_t{options.slots};
      staging.send_slots = world_->buffers.allocate_pool(place, staging.host, pool);
      staging.receive_slots = world_->buffers.allocate_pool(place, staging.host, pool);
    }
    world_->staging.push_back(staging);
  }
}

engine::Viability SimFabric::viability() const { return {}; }

engine::Port& SimFabric::port(Rank rank) { return sim_port(rank); }

SimPort& SimFabric::sim_port(Rank rank) { return *ports_.at(rank.index()); }

engine::BufferHandle SimFabric::allocate(Rank rank, engine::Bytes size) {
  return world_->buffers.allocate(rank, size);
}

Seconds SimFabric::run(std::span<engine::Proxy* const> proxies) {
  HOCCL_CHECK(proxies.size() == ports_.size(), "{} proxies for {} ranks", proxies.size(),
              ports_.size());
  for (std::size_t rank = 0; rank < ports_.size(); ++rank) ports_[rank]->attach(proxies[rank]);
  return run();
}

Seconds SimFabric::run() {
  world_->clock.run();
  return world_->clock.now();
}

void SimFabric::run_until(Seconds time) { world_->clock.run_until(time); }

Seconds SimFabric::now() const { return world_->clock.now(); }

void SimFabric::enqueue_kernel(Rank rank, engine::StreamId stream, Seconds duration) {
  sim_port(rank).enqueue_kernel(stream, duration);
}

std::optional<Seconds> SimFabric::finished_at(Rank rank) const {
  return ports_.at(rank.index())->finished_at();
}

Seconds SimFabric::stream_idle_since(Rank rank, engine::StreamId stream) {
  return sim_port(rank).stream(stream).idle_since();
}

const CpuAccount& SimFabric::proxy_time(Rank rank) const {
  return ports_.at(rank.index())->cpu_account();
}

Seconds SimFabric::submit_time(Rank rank) const { return world_->submit_times.at(rank.index()); }

Seconds SimFabric::launch_time(Rank rank) const { return ports_.at(rank.index())->launch_time(); }

std::vector<LinkUse> SimFabric::link_use() const {
  const Network& network = *world_->network;
  std::vector<LinkUse> result;
  for (std::size_t i = 0; i < network.link_count(); ++i) {
    const LinkId link(i);
    result.push_back({network.name(link), network.capacity(link), network.carried(link)});
  }
  return result;
}

Seconds SimFabric::copy_engine_busy(Rank rank, engine::CopyClass copy_class) {
  return world_->copy_engine(world_->device_of(rank), copy_class).busy_time();
}

void SimFabric::fail_writes(NicId nic, Seconds time) {
  world_->clock.at(
      time, Callback::to<&SimFabric::fail_nic>(*this, static_cast<std::uint64_t>(nic.value())));
}

void SimFabric::fail_nic(std::uint64_t nic) {
  for (const auto& port : ports_) port->fail_nic(NicId(nic));
}

void SimFabric::lose_rank(Rank rank, Seconds time) {
  world_->clock.at(
      time, Callback::to<&SimFabric::rank_lost>(*this, static_cast<std::uint64_t>(rank.value())));
}

void SimFabric::rank_lost(std::uint64_t number) {
  const Rank lost(number);
  sim_port(lost).stop();
  // How a real fabric learns of it (a closed socket) is not modelled beyond a message's latency.
  const Seconds told = world_->clock.now() + world_->calibration.message.remote_latency;
  for (const auto& port : ports_) {
    if (port->rank() != lost) port->deliver(told, engine::PeerLost{.peer = lost});
  }
}

GpuStream& SimFabric::gpu_stream(Rank rank, engine::StreamId stream) {
  return sim_port(rank).stream(stream).gpu_stream();
}

}  // namespace hoccl::sim
