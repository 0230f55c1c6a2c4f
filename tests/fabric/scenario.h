#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fabric/conformance.h"

namespace hoccl::engine {

/// One message of a scenario.
struct ScenarioMessage {
  Rank source;
  Rank target;
  Bytes size;
  StreamId source_stream = StreamId(0);
  StreamId target_stream = StreamId(0);
  int communicator = 0;
  /// Where it begins in the buffers of both ends.
  Bytes offset;
};

/// A job and the messages that a test lets it carry.
class Scenario {
 public:
  Scenario(const FabricFactory& factory, const FabricSettings& settings,
           const CompileOptions& compile)
      : job_(factory.make_job(settings, PipelineOptions(), compile)) {}

  JobUnderTest& job() { return *job_; }
  [[nodiscard]] const Topology& topology() const { return job_->topology(); }
  /// The index-th rank of a node, counting round.
  [[nodiscard]] Rank at(int node, int index) const;

  Region buffer(Rank owner, Bytes size, Bytes offset = Bytes(0)) {
    return {job_->allocate(owner, offset + size), offset, size};
  }
  Region filled(Rank owner, Bytes size, std::uint64_t message, Bytes offset = Bytes(0)) {
    const Region region = buffer(owner, size, offset);
    job_->fill(region, message);
    return region;
  }
  /// A message number that no other message of this scenario has.
  std::uint64_t next_message() { return ++messages_; }

  WorkReference send(const ScenarioMessage& message, const Region& buffer);
  WorkReference receive(const ScenarioMessage& message, const Region& buffer);
  /// Both ends; finish() expects it to succeed.
  void transfer(const ScenarioMessage& message);
  void transfer(Rank source, Rank target, Bytes size, int source_stream = 0, int target_stream = 0);
  /// The source sends A on one stream and B on another; the target, on one stream, receives B
  /// first. finish() expects both to succeed.
  void cross(Rank source, Rank target, Bytes size);
  /// finish() expects it to succeed.
  void expect_ok(const WorkReference& work) { works_.push_back(work); }
  /// finish() expects the pattern of `message` there.
  void expect_bytes(const Region& region, std::uint64_t message) {
    expected_.push_back({region, message});
  }

  /// Source and target disagree about the size, and the source comes to it that much later: runs
  /// and checks that both are told.
  void mismatch(Rank source, Rank target, Bytes sent_size, Bytes received_size,
                Seconds source_delay = Seconds(0.0));
  /// Runs to the end and checks everything that was expected.
  void finish();

 private:
  struct Expected {
    Region region;
    std::uint64_t message;
  };

  std::unique_ptr<JobUnderTest> job_;
  std::vector<WorkReference> works_;
  std::vector<Expected> expected_;
  std::uint64_t messages_ = 0;
};

/// Chunks of a slot of FabricSettings.
CompileOptions small_chunks(int rails = 1);

}  // namespace hoccl::engine
