#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/communicator.h"
#include "engine/pipeline/options.h"
#include "engine/schedule/compile.h"
#include "engine/topology/topology.h"
#include "hw/bootstrap/launch.h"
#include "hw/fabric/hw_fabric.h"
#include "hw/fabric/proxy_thread.h"
#include "tests/hw/job/seam_trap.h"

namespace hoccl::hw {

/// What is equal on all ranks of a job under test.
struct JobSettings {
  engine::Topology topology;
  HwOptions options;
  engine::PipelineOptions pipeline;
  engine::CompileOptions compile;
  /// Off for tests that post and poll themselves.
  bool proxies = true;
  std::optional<SeamTrap> trap;
};

/// One rank of a job, where it lives: real bootstrap, fabric, proxy and communicators, and what its
/// test wants from it. Used by one thread.
class RankUnderTest {
 public:
  RankUnderTest(const JobSettings& settings, const Launch& launch, const TrapLine& trap_line)
      : settings_(settings), launch_(launch), trap_line_(trap_line) {}

  /// Collective over all ranks.
  void start();
  /// When no rank needs this one any more.
  void stop();

  HwFabric& fabric() { return *fabric_; }
  engine::Port& port() { return fabric_->port(launch_.rank); }
  engine::Communicator& communicator(int id);
  [[nodiscard]] const JobSettings& settings() const { return settings_; }

  /// Returns its index.
  int remember(std::shared_ptr<engine::Work> work);
  [[nodiscard]] std::optional<engine::Status> status(int work) const {
    return works_.at(static_cast<std::size_t>(work))->status();
  }
  /// Whether all remembered works end within the time.
  [[nodiscard]] bool await_works(engine::Seconds timeout) const;
  [[nodiscard]] bool quiescent() const { return proxy_->quiescent(); }

  /// Commands that were submitted by hand, as the port reports them back.
  std::vector<std::shared_ptr<const engine::Command>>& submitted() { return submitted_; }

 private:
  const JobSettings& settings_;
  const Launch launch_;
  const TrapLine& trap_line_;
  std::unique_ptr<HwFabric> fabric_;
  std::unique_ptr<engine::Port> trapped_;
  std::unique_ptr<ProxyThread> proxy_;
  /// Made when first used: a rank that only relays has none.
  std::map<int, engine::Communicator> communicators_;
  std::vector<std::shared_ptr<engine::Work>> works_;
  std::vector<std::shared_ptr<const engine::Command>> submitted_;
};

}  // namespace hoccl::hw
