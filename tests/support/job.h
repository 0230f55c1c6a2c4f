#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/communicator.h"
#include "engine/fabric.h"
#include "engine/pipeline/options.h"
#include "engine/pipeline/proxy.h"
#include "engine/schedule/compile.h"

namespace hoccl::engine {

/// One proxy and one communicator per rank (or more, of other ids), all on one fabric of this
/// process.
class Job {
 public:
  Job(Fabric& fabric, int rank_count, const PipelineOptions& pipeline,
      const CompileOptions& compile);

  [[nodiscard]] int rank_count() const { return static_cast<int>(proxies_.size()); }
  /// Made at the first call. It must not be used after the fabric is gone.
  Communicator& communicator(Rank rank, std::uint16_t id = 0);
  Proxy& proxy(Rank rank) { return *proxies_.at(rank.index()); }
  /// By rank, as IdealFabric::run() wants them.
  [[nodiscard]] std::span<Proxy* const> proxies() const { return pointers_; }
  /// No proxy has anything in flight or unfinished.
  [[nodiscard]] bool quiescent() const;

 private:
  Fabric& fabric_;
  CompileOptions compile_;
  std::vector<std::unique_ptr<Proxy>> proxies_;
  std::map<std::pair<std::uint16_t, Rank>, std::unique_ptr<Communicator>> communicators_;
  std::vector<Proxy*> pointers_;
};

}  // namespace hoccl::engine
