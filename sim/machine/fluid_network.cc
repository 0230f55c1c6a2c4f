#include "sim/machine/fluid_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u/Engine.hpp>
#include <vector>

#include "engine/base/check.h"
#include "sim/machine/clock.h"
#include "sim/machine/max_min.h"

namespace hoccl::sim {
namespace {

constexpr double kNoCompletion = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kNotQueued = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kNoFlow = std::numeric_limits<std::uint64_t>::max();

class FluidNetwork;

/// The network's part in SimGrid's search for the next date.
class FluidModel : public simgrid::kernel::resource::Model {
 public:
  explicit FluidModel(FluidNetwork* network) : Model("hoccl_fluid"), network_(network) {}

  void detach() { network_ = nullptr; }
  double next_occurring_event(double now) override;
  void update_actions_state(double /*now*/, double /*delta*/) override {}

 private:
  FluidNetwork* network_;
};

class FluidNetwork final : public Network, public CompletionSource {
 public:
  explicit FluidNetwork(Clock& clock) : Network(clock), model_(std::make_shared<FluidModel>(this)) {
    simgrid::s4u::Engine::get_instance()->add_model(model_);
    clock.set_completion_source(this);
  }
  ~FluidNetwork() override {
    model_->detach();
    clock_.set_completion_source(nullptr);
  }

  bool cancel(FlowHandle handle) override;
  double next_completion() override;
  Readiness readiness(double instant) override;
  std::uint64_t deliver_due(double instant) override;

 protected:
  void on_link_added(LinkId link) override { solver_.add_link(capacity(link).value()); }
  void on_capacity_changed(LinkId link) override {
    solver_.set_capacity(static_cast<MaxMin::Link>(link.value()), capacity(link).value());
  }
  FlowHandle start_flow(std::uint64_t id, RouteId route, engine::Bytes size, Callback done,
                        double rate_limit) override;

 private:
  struct Flow {
    double remaining = 0.0;  ///< bytes at `updated`
    double updated = 0.0;
    double rate = 0.0;
    double finish = kNoCompletion;
    std::uint64_t id = kNoFlow;
    Callback done;
    engine::Bytes size;
    RouteId route;
    std::uint32_t generation = 0;
    std::uint32_t queue_index = kNotQueued;
  };

  void update_rates();
  void change_rate(Flow& flow, std::uint32_t slot, double rate);
  void release(std::uint32_t slot);
  bool finishes_before(std::uint32_t left, std::uint32_t right) const;
  void place(std::size_t index, std::uint32_t slot);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);
  void dequeue(std::uint32_t slot);

  std::shared_ptr<FluidModel> model_;
  MaxMin solver_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> queue_;  ///< binary heap of slots by (finish, id)
  std::vector<std::uint32_t> due_;
  std::vector<Callback> callbacks_;
};

double FluidModel::next_occurring_event(double now) {
  if (network_ == nullptr) return -1.0;
  const double next = network_->next_completion();
  return next == kNoCompletion ? -1.0 : std::max(0.0, next - now);
}

FlowHandle FluidNetwork::start_flow(std::uint64_t id, RouteId route, engine::Bytes size,
                                    Callback done, double rate_limit) {
  std::uint32_t slot;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Flow& flow = flows_[slot];
  flow.remaining = static_cast<double>(size.count());
  flow.updated = clock_.now().count();
  flow.rate = 0.0;
  flow.finish = kNoCompletion;
  flow.id = id;
  flow.done = done;
  flow.size = size;
  flow.route = route;
  std::array<MaxMin::Link, MaxMin::kMaxLinks> hops;
  const std::span<const LinkId> route_links = links(route);
  for (std::size_t i = 0; i < route_links.size(); ++i) {
    hops[i] = static_cast<MaxMin::Link>(route_links[i].value());
  }
  solver_.add_flow(slot, std::span(hops).first(route_links.size()), rate_limit);
  return {slot, flow.generation};
}

bool FluidNetwork::cancel(FlowHandle handle) {
  if (handle.slot >= flows_.size()) return false;
  Flow& flow = flows_[handle.slot];
  if (flow.generation != handle.generation || flow.id == kNoFlow) return false;
  const double elapsed = clock_.now().count() - flow.updated;
  const double moved =
      static_cast<double>(flow.size.count()) - flow.remaining + flow.rate * elapsed;
  count_carried(flow.route, std::min(flow.size, engine::Bytes(std::llround(moved))));
  release(handle.slot);
  return true;
}

double FluidNetwork::next_completion() {
  if (solver_.is_dirty()) update_rates();
  return queue_.empty() ? kNoCompletion : flows_[queue_.front()].finish;
}

CompletionSource::Readiness FluidNetwork::readiness(double instant) {
  return next_completion() <= instant * (1.0 + kSameInstant) ? Readiness::kDue
                                                             : Readiness::kNothingDue;
}

std::uint64_t FluidNetwork::deliver_due(double instant) {
  const double limit = instant * (1.0 + kSameInstant);
  due_.clear();
  while (!queue_.empty() && flows_[queue_.front()].finish <= limit) {
    due_.push_back(queue_.front());
    dequeue(queue_.front());
  }
  std::sort(due_.begin(), due_.end(), [this](std::uint32_t left, std::uint32_t right) {
    return flows_[left].id < flows_[right].id;
  });
  callbacks_.clear();
  for (const std::uint32_t slot : due_) {
    callbacks_.push_back(flows_[slot].done);
    count_carried(flows_[slot].route, flows_[slot].size);
    release(slot);
  }
  // All are gone before the first callback, which may start flows in their places.
  for (const Callback& done : callbacks_) done();
  return callbacks_.size();
}

void FluidNetwork::update_rates() {
  for (const MaxMin::Flow slot : solver_.solve()) {
    change_rate(flows_[slot], slot, solver_.rate(slot));
  }
}

void FluidNetwork::change_rate(Flow& flow, std::uint32_t slot, double rate) {
  const double now = clock_.now().count();
  flow.remaining = std::max(0.0, flow.remaining - flow.rate * (now - flow.updated));
  flow.updated = now;
  flow.rate = rate;
  HOCCL_CHECK(rate > 0.0, "flow {} got no share", flow.id);
  const double before = flow.finish;
  flow.finish = now + flow.remaining / rate;
  if (flow.queue_index == kNotQueued) {
    queue_.push_back(slot);
    flow.queue_index = static_cast<std::uint32_t>(queue_.size() - 1);
    sift_up(flow.queue_index);
  } else if (flow.finish < before) {
    sift_up(flow.queue_index);
  } else {
    sift_down(flow.queue_index);
  }
}

void FluidNetwork::release(std::uint32_t slot) {
  Flow& flow = flows_[slot];
  if (flow.queue_index != kNotQueued) dequeue(slot);
  solver_.remove_flow(slot);
  ++flow.generation;
  flow.id = kNoFlow;
  free_.push_back(slot);
}

bool FluidNetwork::finishes_before(std::uint32_t left, std::uint32_t right) const {
  const Flow& first = flows_[left];
  const Flow& second = flows_[right];
  return first.finish < second.finish || (first.finish == second.finish && first.id < second.id);
}

void FluidNetwork::place(std::size_t index, std::uint32_t slot) {
  queue_[index] = slot;
  flows_[slot].queue_index = static_cast<std::uint32_t>(index);
}

void FluidNetwork::sift_up(std::size_t index) {
  const std::uint32_t slot = queue_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / 2;
    if (!finishes_before(slot, queue_[parent])) break;
    place(index, queue_[parent]);
    index = parent;
  }
  place(index, slot);
}

void FluidNetwork::sift_down(std::size_t index) {
  const std::uint32_t slot = queue_[index];
  for (;;) {
    std::size_t child = index * 2 + 1;
    if (child >= queue_.size()) break;
    if (child + 1 < queue_.size() && finishes_before(queue_[child + 1], queue_[child])) ++child;
    if (!finishes_before(queue_[child], slot)) break;
    place(index, queue_[child]);
    index = child;
  }
  place(index, slot);
}

void FluidNetwork::dequeue(std::uint32_t slot) {
  const std::size_t index = flows_[slot].queue_index;
  flows_[slot].queue_index = kNotQueued;
  const std::uint32_t moved = queue_.back();
  queue_.pop_back();
  if (moved == slot) return;
  place(index, moved);
  sift_up(index);
  sift_down(flows_[moved].queue_index);
}

}  // namespace

std::unique_ptr<Network> make_fluid_network(Clock& clock) {
  return std::make_unique<FluidNetwork>(clock);
}

}  // namespace hoccl::sim
