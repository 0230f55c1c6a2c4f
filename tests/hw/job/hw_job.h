#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tests/fabric/fabric_under_test.h"
#include "tests/fabric/job_under_test.h"
#include "tests/hw/job/hw_ranks.h"
#include "tests/hw/job/remote_port.h"

namespace hoccl::hw {

/// What the conformance suite's settings mean here.
JobSettings job_settings(const engine::FabricSettings& settings, LinkKind link);

/// Ports of a job whose ranks live elsewhere, without proxies.
class HwFabricUnderTest final : public engine::FabricUnderTest, private engine::Fabric {
 public:
  HwFabricUnderTest(JobSettings settings, Living living);

  engine::Fabric& fabric() override { return *this; }
  [[nodiscard]] const engine::Topology& topology() const override {
    return ranks_.settings().topology;
  }
  engine::BufferHandle allocate(engine::Rank owner, engine::Bytes size) override {
    return ranks_.allocate(owner, size);
  }
  void fill(const engine::Region& region, std::uint64_t message) override {
    ranks_.fill(region, message);
  }
  [[nodiscard]] bool holds(const engine::Region& region, std::uint64_t message) override {
    return ranks_.holds(region, message);
  }
  void delay(engine::Rank rank, engine::StreamId stream, engine::Seconds time) override;
  /// Proxies would have to live with their ranks: none can be given.
  void run(std::span<engine::Proxy* const> proxies) override;

 private:
  [[nodiscard]] engine::Viability viability() const override { return {}; }
  engine::Port& port(engine::Rank rank) override { return *ports_.at(rank.index()); }

  HwRanks ranks_;
  std::vector<std::unique_ptr<RemotePort>> ports_;  // by rank
};

/// A job whose ranks live elsewhere, each with its proxy.
class HwJob final : public engine::JobUnderTest {
 public:
  HwJob(JobSettings settings, Living living) : ranks_(std::move(settings), living) {}

  HwRanks& ranks() { return ranks_; }

  [[nodiscard]] const engine::Topology& topology() const override {
    return ranks_.settings().topology;
  }
  engine::BufferHandle allocate(engine::Rank owner, engine::Bytes size) override {
    return ranks_.allocate(owner, size);
  }
  void fill(const engine::Region& region, std::uint64_t message) override {
    ranks_.fill(region, message);
  }
  [[nodiscard]] bool holds(const engine::Region& region, std::uint64_t message) override {
    return ranks_.holds(region, message);
  }
  engine::WorkReference enqueue(engine::Rank rank, int communicator,
                                const std::vector<engine::SendRecvRequest>& group,
                                engine::StreamId stream) override;
  engine::WorkReference run_plan(engine::Rank rank, int communicator,
                                 const std::shared_ptr<const engine::Plan>& plan,
                                 const engine::Region& send_buffer,
                                 const engine::Region& receive_buffer,
                                 engine::StreamId stream) override;
  void delay(engine::Rank rank, engine::StreamId stream, engine::Seconds time) override;
  void abort(engine::Rank rank, int communicator) override;
  [[nodiscard]] std::optional<engine::Status> status(const engine::WorkReference& work) override;
  /// Everything living ranks have enqueued ends, within a generous time. Then nothing moves.
  void run() override;
  [[nodiscard]] bool quiescent() override;

  /// Whether everything living ranks have enqueued ends within the time.
  [[nodiscard]] bool all_end_within(engine::Seconds time);

 private:
  HwRanks ranks_;
};

}  // namespace hoccl::hw
