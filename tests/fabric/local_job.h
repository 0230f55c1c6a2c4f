#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/communicator.h"
#include "tests/fabric/fabric_under_test.h"
#include "tests/fabric/job_under_test.h"
#include "tests/support/job.h"

namespace hoccl::engine {

/// A job whose ranks share one fabric of this process and are stepped by it.
class LocalJob final : public JobUnderTest {
 public:
  LocalJob(std::unique_ptr<FabricUnderTest> fabric, const PipelineOptions& pipeline,
           const CompileOptions& compile);

  [[nodiscard]] const Topology& topology() const override { return fabric_->topology(); }
  BufferHandle allocate(Rank owner, Bytes size) override { return fabric_->allocate(owner, size); }
  void fill(const Region& region, std::uint64_t message) override {
    fabric_->fill(region, message);
  }
  [[nodiscard]] bool holds(const Region& region, std::uint64_t message) override {
    return fabric_->holds(region, message);
  }
  WorkReference enqueue(Rank rank, int communicator, const std::vector<SendRecvRequest>& group,
                        StreamId stream) override;
  WorkReference run_plan(Rank rank, int communicator, const std::shared_ptr<const Plan>& plan,
                         const Region& send_buffer, const Region& receive_buffer,
                         StreamId stream) override;
  void delay(Rank rank, StreamId stream, Seconds time) override {
    fabric_->delay(rank, stream, time);
  }
  void abort(Rank rank, int communicator) override {
    this->communicator(rank, communicator).abort();
  }
  [[nodiscard]] std::optional<Status> status(const WorkReference& work) override {
    return works_.at(static_cast<std::size_t>(work.index))->status();
  }
  void run() override { fabric_->run(job_.proxies()); }
  [[nodiscard]] bool quiescent() override { return job_.quiescent(); }

 private:
  Communicator& communicator(Rank rank, int index);
  WorkReference remember(Rank rank, std::shared_ptr<Work> work);

  std::unique_ptr<FabricUnderTest> fabric_;
  Job job_;
  std::vector<std::unique_ptr<Communicator>> second_;  // by rank
  std::vector<std::shared_ptr<Work>> works_;
};

}  // namespace hoccl::engine
