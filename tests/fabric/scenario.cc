#include "tests/fabric/scenario.h"

namespace hoccl::engine {
namespace {

/// Bytes behind a received message that nobody may touch.
constexpr Bytes kMargin(8);

}  // namespace

CompileOptions small_chunks(int rails) {
  CompileOptions options;
  options.chunk_size = FabricSettings().slot_size;
  options.rails = rails;
  return options;
}

Rank Scenario::at(int node, int index) const {
  const auto ranks = topology().ranks_of(NodeId(node));
  return ranks[static_cast<std::size_t>(index) % ranks.size()];
}

WorkReference Scenario::send(const ScenarioMessage& message, const Region& buffer) {
  return job_->enqueue(message.source, message.communicator,
                       {{SendRecvRequest::Side::kSend, message.target, buffer}},
                       message.source_stream);
}

WorkReference Scenario::receive(const ScenarioMessage& message, const Region& buffer) {
  return job_->enqueue(message.target, message.communicator,
                       {{SendRecvRequest::Side::kReceive, message.source, buffer}},
                       message.target_stream);
}

void Scenario::transfer(const ScenarioMessage& message) {
  const std::uint64_t number = next_message();
  const std::uint64_t untouched = next_message();
  expect_ok(send(message, filled(message.source, message.size, number, message.offset)));
  Region target = buffer(message.target, message.size + kMargin, message.offset);
  const Region before{target.buffer, Bytes(0), message.offset};
  const Region after{target.buffer, message.offset + message.size, kMargin};
  for (const Region& margin : {before, after}) {
    job_->fill(margin, untouched);
    expect_bytes(margin, untouched);
  }
  target.size = message.size;
  expect_ok(receive(message, target));
  expect_bytes(target, number);
}

void Scenario::transfer(Rank source, Rank target, Bytes size, int source_stream,
                        int target_stream) {
  ScenarioMessage message;
  message.source = source;
  message.target = target;
  message.size = size;
  message.source_stream = StreamId(source_stream);
  message.target_stream = StreamId(target_stream);
  transfer(message);
}

void Scenario::cross(Rank source, Rank target, Bytes size) {
  ScenarioMessage a;
  a.source = source;
  a.target = target;
  a.size = size;
  a.source_stream = StreamId(1);
  ScenarioMessage b = a;
  b.source_stream = StreamId(2);
  b.communicator = 1;  // messages of one communicator are matched in order
  const std::uint64_t in_a = next_message();
  const std::uint64_t in_b = next_message();
  expect_ok(send(a, filled(source, size, in_a)));
  // B comes when A has taken all it can get.
  job().delay(source, b.source_stream, Seconds(10e-3));
  expect_ok(send(b, filled(source, size, in_b)));
  const Region received_b = buffer(target, size);
  const Region received_a = buffer(target, size);
  expect_ok(receive(b, received_b));
  expect_ok(receive(a, received_a));
  expect_bytes(received_a, in_a);
  expect_bytes(received_b, in_b);
}

void Scenario::mismatch(Rank source, Rank target, Bytes sent_size, Bytes received_size,
                        Seconds source_delay) {
  ScenarioMessage message;
  message.source = source;
  message.target = target;
  if (source_delay > Seconds(0.0)) job_->delay(source, message.source_stream, source_delay);
  const WorkReference sent = send(message, filled(source, sent_size, 1));
  const WorkReference received = receive(message, buffer(target, received_size));
  job_->run();
  const auto expect_mismatch = [this](const WorkReference& work, Bytes size) {
    const std::optional<Status> status = job_->status(work);
    ASSERT_TRUE(status.has_value());
    // An empty side has nothing to wait for: it may be through before it could know.
    const bool may_be_ok = size == Bytes(0);
    EXPECT_TRUE(status->cause == Cause::kSizeMismatch || (may_be_ok && status->ok()))
        << to_string(*status);
  };
  expect_mismatch(sent, sent_size);
  expect_mismatch(received, received_size);
  EXPECT_TRUE(job_->quiescent());
}

void Scenario::finish() {
  job_->run();
  for (const WorkReference& work : works_) {
    const std::optional<Status> status = job_->status(work);
    ASSERT_TRUE(status.has_value())
        << "operation " << work.index << " of rank " << work.rank.value();
    EXPECT_TRUE(status->ok()) << to_string(*status);
  }
  for (const Expected& expected : expected_) {
    EXPECT_TRUE(job_->holds(expected.region, expected.message))
        << "message " << expected.message << ", rank " << expected.region.buffer.owner.value();
  }
  EXPECT_TRUE(job_->quiescent());
}

}  // namespace hoccl::engine
