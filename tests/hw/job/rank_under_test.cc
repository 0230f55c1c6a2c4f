#include "tests/hw/job/rank_under_test.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hoccl::hw {
namespace {

using engine::Seconds;

/// For a rank that does not come, so that a test ends before its runner loses patience.
constexpr Seconds kStartTime(30.0);
constexpr std::chrono::microseconds kPollInterval(200);

}  // namespace

void RankUnderTest::start() {
  BootstrapOptions options;
  options.timeout = kStartTime;
  fabric_ = std::make_unique<HwFabric>(Bootstrap::connect(launch_, options), settings_.topology,
                                       settings_.options);
  if (!settings_.proxies) return;
  const std::optional<SeamTrap>& trap = settings_.trap;
  if (trap && trap->rank == launch_.rank) trapped_ = with_trap(port(), *trap, trap_line_);
  proxy_ = std::make_unique<ProxyThread>(*fabric_, settings_.pipeline, trapped_.get());
}

void RankUnderTest::stop() {
  works_.clear();
  communicators_.clear();
  proxy_.reset();
  trapped_.reset();
  fabric_.reset();
}

engine::Communicator& RankUnderTest::communicator(int id) {
  return communicators_.try_emplace(id, port(), static_cast<std::uint16_t>(id), settings_.compile)
      .first->second;
}

int RankUnderTest::remember(std::shared_ptr<engine::Work> work) {
  works_.push_back(std::move(work));
  return static_cast<int>(works_.size()) - 1;
}

bool RankUnderTest::await_works(Seconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto all_ended = [this] {
    return std::ranges::all_of(works_, [](const auto& work) { return work->status().has_value(); });
  };
  while (!all_ended()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return true;
}

}  // namespace hoccl::hw
