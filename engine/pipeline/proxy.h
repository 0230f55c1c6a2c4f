#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/units.h"
#include "engine/fabric.h"
#include "engine/pipeline/options.h"

namespace hoccl::engine {

/// The reactor of one rank: serves all its communicators, the staging places it hosts, and relays
/// of communicators it is not in. It never waits and never blocks; only a driver outside the engine
/// waits.
class Proxy {
 public:
  /// Told when operations run into the timeout, before they are ended, what describe() says then,
  /// after a line that names them.
  using OnStall = std::function<void(const std::string& dump)>;

  Proxy(Port& port, const PipelineOptions& options, OnStall on_stall = {});
  ~Proxy();

  /// Takes what happened since the last call and moves every state machine as far as it goes.
  void step();
  /// When step() must be called next even if nothing happens (the watchdog, background work whose
  /// patience ends); nothing when idle. For a driver that sleeps.
  [[nodiscard]] std::optional<Seconds> next_deadline() const;

  /// Every slot of the places this rank hosts is idle, no copy or write is in flight, no operation
  /// is unfinished.
  [[nodiscard]] bool quiescent() const;

  /// Everything unfinished, for a person: operations with their flows, leases, links, slots that
  /// are not idle, demands, gates, background that is held back. Many lines.
  [[nodiscard]] std::string describe() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoccl::engine
