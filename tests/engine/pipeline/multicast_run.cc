#include "tests/engine/pipeline/multicast_run.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/support/byte_pattern.h"
#include "tests/support/multicast_plan.h"

namespace hoccl::engine {
namespace {

constexpr std::uint64_t kMessage = 77;
const Rank kSource(0);

CompileOptions compile_options() { return {.chunk_size = kMulticastChunk, .rails = 1}; }

}  // namespace

const std::vector<Rank> MulticastRun::kTargets = {Rank(4), Rank(6), Rank(7)};

MulticastRun::MulticastRun(IdealOptions options) {
  options.slot_size = kMulticastChunk;
  options.time_limit = Seconds(10.0);
  fabric_ = std::make_unique<IdealFabric>(resolve_topology("h800-2x4"), options);
  PipelineOptions pipeline;
  pipeline.timeout = kTimeout;
  job_ = std::make_unique<Job>(*fabric_, fabric_->topology().rank_count(), pipeline,
                               compile_options());
}

Plan MulticastRun::plan_of(Bytes size) const {
  return multicast_plan(fabric_->topology(), kSource, kTargets, size, compile_options());
}

void MulticastRun::enqueue(Bytes size) {
  for (int i = 0; i < job_->rank_count(); ++i) enqueue(Rank(i), plan_of(size));
}

void MulticastRun::enqueue(Rank rank, const Plan& plan) {
  Region send;
  Region receive;
  if (rank == kSource) {
    send = {fabric_->allocate(rank, plan.message_size), Bytes(0), plan.message_size};
    fill_pattern(fabric_->bytes(send), kMessage);
  }
  if (delivers_to(plan.transfers.front(), rank)) {
    receive = {fabric_->allocate(rank, plan.message_size), Bytes(0), plan.message_size};
    received_[rank] = receive;
  }
  works_[rank] =
      job_->communicator(rank).run(std::make_shared<const Plan>(plan), send, receive, StreamId(0));
  fabric_->enqueue_callback(rank, StreamId(0), [this, rank] { ends_[rank] = fabric_->now(); });
}

void MulticastRun::run() {
  EXPECT_EQ(fabric_->run(job_->proxies()), RunEnd::kIdle);
  EXPECT_TRUE(fabric_->streams_drained());
}

Status MulticastRun::status(Rank rank) const {
  const auto status = works_.at(rank)->status();
  EXPECT_TRUE(status.has_value()) << "rank " << rank.value() << " did not end";
  return status.value_or(Status());
}

void MulticastRun::expect_all_ok() {
  for (const auto& [rank, work] : works_) {
    EXPECT_TRUE(status(rank).ok()) << "rank " << rank.value() << ": " << to_string(status(rank));
  }
  for (const auto& [rank, region] : received_) {
    EXPECT_FALSE(first_difference(fabric_->bytes(region), kMessage).has_value())
        << "rank " << rank.value();
  }
  expect_quiescent();
}

void MulticastRun::expect_quiescent(Rank dead) {
  for (int i = 0; i < job_->rank_count(); ++i) {
    if (Rank(i) == dead) continue;
    EXPECT_TRUE(job_->proxy(Rank(i)).quiescent()) << "rank " << i;
  }
  EXPECT_EQ(fabric_->unfinished(), "");
}

}  // namespace hoccl::engine
