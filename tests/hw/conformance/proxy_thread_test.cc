#include <gtest/gtest.h>

#include <chrono>

#include "engine/pipeline/options.h"
#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {
namespace {

/// A proxy that is told to stop while it goes to sleep must not oversleep: at whatever moment.
TEST(ProxyThread, StopsWhateverItIsDoing) {
  engine::FabricSettings fabric;
  fabric.ranks = 2;
  JobSettings settings = job_settings(fabric, LinkKind::kLoopback);
  settings.proxies = false;
  HwRanks ranks(std::move(settings), Living::kProcess);
  // A rank that does not come back is a failure of this call.
  ranks.call(engine::Rank(0), [](RankUnderTest& rank) {
    for (int i = 0; i < 10000; ++i) {
      const ProxyThread proxy(rank.fabric(), engine::PipelineOptions());
      const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(i % 400 * 100);
      while (std::chrono::steady_clock::now() < end) {
      }
    }
  });
}

}  // namespace
}  // namespace hoccl::hw
