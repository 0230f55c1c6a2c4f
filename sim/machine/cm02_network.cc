#include "sim/machine/cm02_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <vector>

#include "engine/base/check.h"
#include "sim/machine/clock.h"

namespace hoccl::sim {
namespace {

namespace s4u = simgrid::s4u;
namespace kernel = simgrid::kernel;

/// What SimGrid believes a link's bandwidth to be. It caps each flow for life at the smallest
/// bandwidth of its route when the flow starts, so this is far above any real capacity, and the
/// real one comes from a callback of the sharing policy.
constexpr double kNominalBandwidth = 1e13;

/// A zone whose only route, from one pseudo host to the other, is whatever the network sets before
/// it starts a flow: arbitrary link sets without a host pair for each.
class RouteZone : public kernel::routing::NetZoneImpl {
 public:
  explicit RouteZone(const std::string& name) : NetZoneImpl(name) {}

  void set_route(std::span<s4u::Link* const> links) { links_ = links; }

 private:
  void get_local_route(const kernel::routing::NetPoint* /*source*/,
                       const kernel::routing::NetPoint* /*target*/, kernel::routing::Route* into,
                       double* /*latency*/) override {
    for (const s4u::Link* link : links_) into->link_list_.push_back(link->get_impl());
  }

  std::span<s4u::Link* const> links_;
};

class Cm02Network final : public Network, public CompletionSource {
 public:
  explicit Cm02Network(Clock& clock);
  ~Cm02Network() override;

  bool cancel(FlowHandle handle) override;
  double next_completion() override { return std::numeric_limits<double>::infinity(); }
  Readiness readiness(double instant) override;
  std::uint64_t deliver_due(double instant) override;

 protected:
  void on_link_added(LinkId link) override;
  void on_capacity_changed(LinkId link) override;
  FlowHandle start_flow(std::uint64_t id, RouteId route, engine::Bytes size, Callback done,
                        double rate_limit) override;

 private:
  enum class State : std::uint8_t { kFree, kRunning, kFinished };
  struct Flow {
    s4u::CommPtr comm;
    std::uint64_t id = 0;
    Callback done;
    engine::Bytes size;
    RouteId route;
    std::uint32_t generation = 0;
    State state = State::kFree;
  };

  static void comm_ended(const s4u::Activity& activity);
  void release(std::uint32_t slot);

  /// SimGrid's signals are global and cannot be disconnected.
  static Cm02Network* instance_;

  RouteZone* zone_;  ///< owned by SimGrid
  s4u::Host* source_;
  s4u::Host* target_;
  kernel::resource::Model* model_ = nullptr;
  std::vector<s4u::Link*> links_;
  std::vector<s4u::Link*> route_;  ///< of the flow being started
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> finished_;
  std::vector<Callback> callbacks_;
  /// SimGrid still touches a Comm of ours in the step in which it ends.
  std::vector<s4u::CommPtr> retired_;
  std::vector<s4u::CommPtr> retired_before_;
};

Cm02Network* Cm02Network::instance_ = nullptr;

Cm02Network::Cm02Network(Clock& clock) : Network(clock) {
  HOCCL_CHECK(instance_ == nullptr, "{}", "one cm02 network per process");
  instance_ = this;
  const auto* engine = s4u::Engine::get_instance();
  zone_ = new RouteZone("routes");
  zone_->set_parent(engine->get_netzone_root()->get_impl());
  source_ = zone_->create_host("source", {1.0});
  target_ = zone_->create_host("target", {1.0});
  for (kernel::resource::Model* model : engine->get_all_models()) {
    if (model->get_name() == "Network_CM02") model_ = model;
  }
  HOCCL_CHECK(model_ != nullptr, "{}", "SimGrid has no CM02 model: network/model is not CM02");
  s4u::Activity::on_completion_cb(&Cm02Network::comm_ended);
  clock.set_completion_source(this);
}

Cm02Network::~Cm02Network() {
  instance_ = nullptr;
  clock_.set_completion_source(nullptr);
}

void Cm02Network::on_link_added(LinkId link) {
  s4u::Link* created = zone_->create_link("link" + std::to_string(link.value()) + ":" + name(link),
                                          {kNominalBandwidth});
  created->set_sharing_policy(
      s4u::Link::SharingPolicy::NONLINEAR,
      [this, link](double /*bandwidth*/, int /*flows*/) { return capacity(link).value(); });
  created->seal();
  links_.push_back(created);
}

void Cm02Network::on_capacity_changed(LinkId link) {
  // The same value again makes SimGrid ask the callback.
  links_[link.index()]->set_bandwidth(kNominalBandwidth);
}

FlowHandle Cm02Network::start_flow(std::uint64_t id, RouteId route, engine::Bytes size,
                                   Callback done, double rate_limit) {
  route_.clear();
  for (const LinkId link : links(route)) route_.push_back(links_[link.index()]);
  zone_->set_route(route_);
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  // The cap that SimGrid takes from the route at the start (see kNominalBandwidth) is the only
  // one that it honours for host-to-host Comms.
  const bool limited = rate_limit < kNominalBandwidth;
  if (limited) route_.front()->set_bandwidth(rate_limit);
  Flow& flow = flows_[slot];
  flow.comm = s4u::Comm::sendto_async(source_, target_, static_cast<std::uint64_t>(size.count()));
  if (limited) route_.front()->set_bandwidth(kNominalBandwidth);
  flow.comm->set_data(reinterpret_cast<void*>(static_cast<std::uintptr_t>(slot) + 1));
  flow.id = id;
  flow.done = done;
  flow.size = size;
  flow.route = route;
  flow.state = State::kRunning;
  return {slot, flow.generation};
}

void Cm02Network::comm_ended(const s4u::Activity& activity) {
  const auto* comm = dynamic_cast<const s4u::Comm*>(&activity);
  if (comm == nullptr || instance_ == nullptr) return;
  const auto key = reinterpret_cast<std::uintptr_t>(comm->get_data<void>());
  if (key == 0) return;  // cancelled
  const auto slot = static_cast<std::uint32_t>(key - 1);
  instance_->flows_[slot].state = State::kFinished;
  instance_->finished_.push_back(slot);
}

bool Cm02Network::cancel(FlowHandle handle) {
  if (handle.slot >= flows_.size()) return false;
  Flow& flow = flows_[handle.slot];
  if (flow.generation != handle.generation || flow.state != State::kRunning) return false;
  const double moved = static_cast<double>(flow.size.count()) - flow.comm->get_remaining();
  count_carried(flow.route, std::min(flow.size, engine::Bytes(std::llround(moved))));
  flow.comm->set_data(nullptr);
  flow.comm->cancel();
  release(handle.slot);
  return true;
}

void Cm02Network::release(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  retired_.push_back(std::move(flow.comm));
  flow.state = State::kFree;
  ++flow.generation;
  free_.push_back(slot);
}

CompletionSource::Readiness Cm02Network::readiness(double /*instant*/) {
  retired_before_.clear();
  std::swap(retired_, retired_before_);
  if (!model_->get_finished_action_set()->empty() || !model_->get_failed_action_set()->empty()) {
    return Readiness::kRetry;
  }
  const double now = s4u::Engine::get_clock();
  const double delay = model_->next_occurring_event(now);
  if (delay >= 0.0 && delay <= now * kSameInstant) return Readiness::kImminent;
  return finished_.empty() ? Readiness::kNothingDue : Readiness::kDue;
}

std::uint64_t Cm02Network::deliver_due(double /*instant*/) {
  std::sort(finished_.begin(), finished_.end(), [this](std::uint32_t left, std::uint32_t right) {
    return flows_[left].id < flows_[right].id;
  });
  callbacks_.clear();
  for (const std::uint32_t slot : finished_) {
    callbacks_.push_back(flows_[slot].done);
    count_carried(flows_[slot].route, flows_[slot].size);
    release(slot);
  }
  finished_.clear();
  for (const Callback& done : callbacks_) done();
  return callbacks_.size();
}

}  // namespace

std::unique_ptr<Network> make_cm02_network(Clock& clock) {
  return std::make_unique<Cm02Network>(clock);
}

}  // namespace hoccl::sim
