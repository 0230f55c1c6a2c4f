#include "tests/sim/machine/flow_scenario.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/random.h"
#include "sim/machine/clock.h"

namespace hoccl::sim {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::Random;
using engine::Seconds;

/// The links of a random cluster.
struct Cluster {
  int nodes = 0;
  int gpus_per_node = 0;
  bool has_pcie = false;
  bool has_switch = false;
  std::vector<std::size_t> nvlink_out, nvlink_in, pcie, nic_send, nic_receive, up, down;
};

std::size_t add_link(FlowScenario& scenario, Random& random, double nominal) {
  // Some clusters are uniform and full of ties, some links differ.
  scenario.capacities.push_back(random.chance(0.3) ? nominal * (0.5 + random.uniform()) : nominal);
  return scenario.capacities.size() - 1;
}

Cluster random_cluster(FlowScenario& scenario, Random& random) {
  Cluster cluster;
  cluster.nodes = static_cast<int>(random.between(2, 6));
  cluster.gpus_per_node = static_cast<int>(random.between(2, 8));
  cluster.has_pcie = random.chance(0.3);
  cluster.has_switch = random.chance(0.3);
  for (int gpu = 0; gpu < cluster.nodes * cluster.gpus_per_node; ++gpu) {
    cluster.nvlink_out.push_back(add_link(scenario, random, 200e9));
    cluster.nvlink_in.push_back(add_link(scenario, random, 200e9));
    cluster.pcie.push_back(add_link(scenario, random, 55e9));
    cluster.nic_send.push_back(add_link(scenario, random, 50e9));
    cluster.nic_receive.push_back(add_link(scenario, random, 50e9));
  }
  for (int node = 0; node < cluster.nodes; ++node) {
    cluster.up.push_back(add_link(scenario, random, 25e9 * cluster.gpus_per_node));
    cluster.down.push_back(add_link(scenario, random, 25e9 * cluster.gpus_per_node));
  }
  return cluster;
}

std::vector<std::size_t> random_route(const Cluster& cluster, Random& random) {
  const int gpu_count = cluster.nodes * cluster.gpus_per_node;
  const auto source = static_cast<std::size_t>(random.between(0, gpu_count - 1));
  const auto per_node = static_cast<std::size_t>(cluster.gpus_per_node);
  const std::size_t source_node = source / per_node;
  if (random.chance(0.5)) {  // NVLink, to another GPU of the node
    std::size_t target = source;
    while (target == source) {
      target = source_node * per_node +
               static_cast<std::size_t>(random.between(0, cluster.gpus_per_node - 1));
    }
    return {cluster.nvlink_out[source], cluster.nvlink_in[target]};
  }
  std::size_t target = source;
  while (target / per_node == source_node) {
    target = static_cast<std::size_t>(random.between(0, gpu_count - 1));
  }
  std::vector<std::size_t> links = {cluster.nic_send[source], cluster.nic_receive[target]};
  if (cluster.has_switch) {
    links.push_back(cluster.up[source_node]);
    links.push_back(cluster.down[target / per_node]);
  }
  if (cluster.has_pcie) {
    links.push_back(cluster.pcie[source]);
    links.push_back(cluster.pcie[target]);
  }
  return links;
}

/// Plays a scenario on a network.
class Player {
 public:
  Player(const FlowScenario& scenario, NetworkKind kind)
      : scenario_(scenario), network_(make_network(kind, clock_)) {
    result_.finish.assign(scenario.flows.size(), 0.0);
    for (const double capacity : scenario.capacities) {
      network_->add_link(std::to_string(network_->link_count()), BytesPerSecond(capacity));
    }
    for (const ReferenceFlow& flow : scenario.flows) {
      std::vector<LinkId> links;
      for (const std::size_t link : flow.links) links.emplace_back(link);
      routes_.push_back(network_->add_route(links));
    }
  }

  ScenarioResult play() {
    for (std::size_t i = 0; i < scenario_.flows.size(); ++i) {
      clock_.at(Seconds(scenario_.flows[i].arrival), Callback::to<&Player::arrive>(*this, i));
    }
    for (std::size_t i = 0; i < scenario_.changes.size(); ++i) {
      clock_.at(Seconds(scenario_.changes[i].time), Callback::to<&Player::change>(*this, i));
    }
    clock_.run();
    for (std::size_t i = 0; i < network_->link_count(); ++i) {
      result_.carried.push_back(static_cast<double>(network_->carried(LinkId(i)).count()));
    }
    return result_;
  }

 private:
  void arrive(std::uint64_t index) {
    const ReferenceFlow& flow = scenario_.flows[index];
    network_->start(routes_[index], Bytes(std::llround(flow.size)),
                    Callback::to<&Player::finished>(*this, index), BytesPerSecond(flow.limit));
  }
  void finished(std::uint64_t index) { result_.finish[index] = clock_.now().count(); }
  void change(std::uint64_t index) {
    const CapacityChange& change = scenario_.changes[index];
    network_->set_capacity(LinkId(change.link), BytesPerSecond(change.capacity));
  }

  const FlowScenario& scenario_;
  Clock clock_;
  std::unique_ptr<Network> network_;
  std::vector<RouteId> routes_;
  ScenarioResult result_;
};

void write_all(int file, const std::vector<double>& values) {
  const auto* next = reinterpret_cast<const char*>(values.data());
  std::size_t left = values.size() * sizeof(double);
  while (left > 0) {
    const ssize_t written = write(file, next, left);
    HOCCL_CHECK(written > 0, "write returned {}", written);
    next += written;
    left -= static_cast<std::size_t>(written);
  }
}

void read_all(int file, std::vector<double>& values) {
  auto* next = reinterpret_cast<char*>(values.data());
  std::size_t left = values.size() * sizeof(double);
  while (left > 0) {
    const ssize_t got = read(file, next, left);
    HOCCL_CHECK(got > 0, "the simulation process ended early ({})", got);
    next += got;
    left -= static_cast<std::size_t>(got);
  }
}

}  // namespace

FlowScenario random_scenario(std::uint64_t seed, int max_flows) {
  Random random(seed);
  FlowScenario scenario;
  const Cluster cluster = random_cluster(scenario, random);
  const auto flow_count = random.between(std::min(50, max_flows), max_flows);
  // About one flow per GPU and 20 us on average: queues build up and drain.
  const double window = 20e-6 * static_cast<double>(flow_count) /
                        static_cast<double>(cluster.nodes * cluster.gpus_per_node);
  const bool with_limits = random.chance(0.5);
  double arrival = 1e-6;
  for (std::int64_t i = 0; i < flow_count; ++i) {
    if (!random.chance(0.2)) arrival = 1e-6 + window * random.uniform();  // else with the last one
    ReferenceFlow flow;
    flow.arrival = arrival;
    flow.size = random.chance(0.5)
                    ? static_cast<double>(1 << 20)
                    : std::floor(std::exp(random.uniform() * std::log(8.0 * (1 << 20))) + 1.0);
    if (with_limits && random.chance(0.3)) flow.limit = 5e9 + 60e9 * random.uniform();
    flow.links = random_route(cluster, random);
    scenario.flows.push_back(flow);
  }
  std::ranges::stable_sort(scenario.flows, {}, &ReferenceFlow::arrival);
  if (random.chance(0.5)) {
    for (int i = 0; i < 10; ++i) {
      const auto last = static_cast<std::int64_t>(scenario.capacities.size()) - 1;
      const auto link = static_cast<std::size_t>(random.between(0, last));
      scenario.changes.push_back({1e-6 + window * random.uniform(), link,
                                  scenario.capacities[link] * (0.2 + 1.5 * random.uniform())});
    }
    std::ranges::stable_sort(scenario.changes, {}, &CapacityChange::time);
  }
  return scenario;
}

ScenarioResult simulate_in_child(const FlowScenario& scenario, NetworkKind kind) {
  int ends[2];
  HOCCL_CHECK(pipe(ends) == 0, "{}", "no pipe");
  const pid_t child = fork();
  HOCCL_CHECK(child >= 0, "{}", "no process");
  if (child == 0) {
    const ScenarioResult result = Player(scenario, kind).play();
    write_all(ends[1], result.finish);
    write_all(ends[1], result.carried);
    _exit(0);
  }
  close(ends[1]);
  ScenarioResult result;
  result.finish.resize(scenario.flows.size());
  result.carried.resize(scenario.capacities.size());
  read_all(ends[0], result.finish);
  read_all(ends[0], result.carried);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  HOCCL_CHECK(status == 0, "the simulation process ended with status {}", status);
  return result;
}

}  // namespace hoccl::sim
