#include "hw/fabric/hw_fabric.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "hw/fabric/hw_port.h"

namespace hoccl::hw {

using engine::BufferHandle;
using engine::Bytes;
using engine::ConfigError;
using engine::Rank;
using engine::Region;
using engine::StreamId;

namespace {

void require_usable(const engine::Topology& topology, const HwOptions& options,
                    const Bootstrap& bootstrap) {
  const auto refuse = [](const std::string& what, const std::string& expected) {
    throw ConfigError(fmt::format("{}: expected {}", what, expected));
  };
  if (topology.rank_count() != bootstrap.size()) {
    refuse(fmt::format("topology '{}' has {} ranks", topology.name(), topology.rank_count()),
           fmt::format("{}, the processes of the job", bootstrap.size()));
  }
  if (options.slots < 1 || options.slots > 65535) {
    refuse(fmt::format("slots = {}", options.slots), "1 to 65535");
  }
  if (options.slot_size < Bytes(1)) {
    refuse(fmt::format("slot size = {}", to_string(options.slot_size)), "1B or more");
  }
  if (options.copy_threads < 1) {
    refuse(fmt::format("copy threads = {}", options.copy_threads), "1 or more");
  }
  if (options.link == LinkKind::kLoopbackMap &&
      (options.link_rate || options.link_delay > engine::Seconds(0.0))) {
    refuse("link rate or delay on loopback-map", "loopback: nothing moves on a map wire");
  }
}

void require_reachable_slots(const engine::Topology& topology, const HwOptions& options) {
  if (options.copy != CopyKind::kCuda || options.link != LinkKind::kLoopback) return;
  if (topology.staging() == engine::StagingKind::kHost) return;
  throw ConfigError(fmt::format(
      "link = loopback with copy cuda: topology '{}' has its slots on GPUs, where the thread that "
      "plays the NIC cannot reach them; expected loopback-map or h200-1x1",
      topology.name()));
}

std::string describe(const VerbsOptions& options) {
  return fmt::format(
      "RDMA devices '{}', GID index {}, MTU {}, traffic class {}, service level {}, timeout {}, "
      "{} retries, probes every {} s",
      options.devices, options.gid_index ? std::to_string(*options.gid_index) : "automatic",
      options.mtu_bytes ? std::to_string(*options.mtu_bytes) : "automatic", options.traffic_class,
      options.service_level, options.timeout, options.retries, options.probe_interval.count());
}

std::string describe(const engine::Topology& topology, const HwOptions& options) {
  return fmt::format(
      "topology {} with {} ranks, copy {}, link {}, {} slots of {}, link rate {} B/s, delay {} s, "
      "{}",
      topology.name(), topology.rank_count(), to_string(options.copy), to_string(options.link),
      options.slots, to_string(options.slot_size),
      options.link_rate ? options.link_rate->value() : 0.0, options.link_delay.count(),
      describe(options.verbs));
}

}  // namespace

struct HwFabric::Impl {
  std::unique_ptr<Bootstrap> bootstrap;
  engine::Topology topology;
  std::unique_ptr<HwPort> port;
};

HwFabric::HwFabric(std::unique_ptr<Bootstrap> bootstrap, engine::Topology topology,
                   const HwOptions& options)
    : impl_(std::make_unique<Impl>(Impl{std::move(bootstrap), std::move(topology), nullptr})) {
  require_usable(impl_->topology, options, *impl_->bootstrap);
  require_reachable_slots(impl_->topology, options);
  require_agreement(*impl_->bootstrap, "the fabric", describe(impl_->topology, options));
  impl_->port = std::make_unique<HwPort>(*impl_->bootstrap, impl_->topology, options);
}

HwFabric::~HwFabric() = default;

engine::Viability HwFabric::viability() const { return {}; }

engine::Port& HwFabric::port(Rank rank) {
  HOCCL_CHECK(rank == impl_->port->rank(), "rank {} lives in another process than rank {}", rank,
              impl_->port->rank());
  return *impl_->port;
}

Rank HwFabric::rank() const { return impl_->port->rank(); }
const engine::Topology& HwFabric::topology() const { return impl_->topology; }
Bootstrap& HwFabric::bootstrap() { return *impl_->bootstrap; }

BufferHandle HwFabric::allocate(Bytes size) { return impl_->port->node().buffers().allocate(size); }

BufferHandle HwFabric::register_buffer(std::span<std::byte> memory) {
  return impl_->port->node().buffers().add(memory);
}

void HwFabric::release(BufferHandle buffer) {
  impl_->port->link().release_buffer(buffer);
  impl_->port->node().buffers().release(buffer);
}

std::span<std::byte> HwFabric::bytes(const Region& region) {
  return {impl_->port->node().bytes(region).data, static_cast<std::size_t>(region.size.count())};
}

void HwFabric::read(std::span<std::byte> to, const Region& region) {
  HOCCL_CHECK(Bytes(static_cast<std::int64_t>(to.size())) == region.size,
              "{} bytes read from a region of {}", to.size(), region.size.count());
  impl_->port->device().read(to, impl_->port->node().bytes(region).data);
}

void HwFabric::write(const Region& region, std::span<const std::byte> from) {
  HOCCL_CHECK(Bytes(static_cast<std::int64_t>(from.size())) == region.size,
              "{} bytes written to a region of {}", from.size(), region.size.count());
  impl_->port->device().write(impl_->port->node().bytes(region).data, from);
}

void HwFabric::start_recording() {
  impl_->port->copies().hand_over_singly(true);
  impl_->port->device().start_recording();
}

ZeroSmVerdict HwFabric::stop_recording() {
  impl_->port->copies().hand_over_singly(false);
  return impl_->port->device().stop_recording();
}

std::string HwFabric::device_description() const { return impl_->port->device().description(); }

void HwFabric::enqueue_callback(StreamId stream, std::function<void()> callback) {
  impl_->port->streams().enqueue(stream, std::move(callback));
}

void HwFabric::synchronize(StreamId stream) { impl_->port->streams().synchronize(stream); }

std::optional<engine::Seconds> HwFabric::finished_at() const { return impl_->port->finished_at(); }

void HwFabric::require_healthy(StreamId stream) { impl_->port->streams().require_healthy(stream); }

void HwFabric::progress() { (void)impl_->port->look_at_link(); }

std::string HwFabric::link_description() const { return impl_->port->link().description(); }

void HwFabric::break_queue_pair(std::uint64_t index) { impl_->port->break_queue_pair(index); }

bool HwFabric::idle() const { return impl_->port->idle(); }

void HwFabric::record_trace(engine::TraceSink* sink) { impl_->port->trace().record_into(sink); }

HwPort& HwFabric::own_port() { return *impl_->port; }

}  // namespace hoccl::hw
