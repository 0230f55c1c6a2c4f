#include "tests/support/pattern_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/rank_share.h"
#include "tests/support/byte_pattern.h"

namespace hoccl::engine {
namespace {

constexpr std::byte kUntouched{0xee};

}  // namespace

PatternRun::PatternRun(const Topology& topology, IdealOptions fabric,
                       const PipelineOptions& pipeline)
    : fabric_(std::make_unique<IdealFabric>(topology, fabric)),
      job_(std::make_unique<Job>(*fabric_, topology.rank_count(), pipeline, CompileOptions())) {}

void PatternRun::allocate(Operation& operation) {
  const std::vector<BufferSizes> sizes =
      buffer_sizes_by_rank(operation.pattern.flows, job_->rank_count());
  const auto make = [&](int rank, Bytes size) {
    if (size == Bytes(0)) return Region{};
    return Region{fabric_->allocate(Rank(rank), size), Bytes(0), size};
  };
  for (int rank = 0; rank < job_->rank_count(); ++rank) {
    const BufferSizes& size = sizes[static_cast<std::size_t>(rank)];
    operation.sent.push_back(make(rank, size.send));
    operation.received.push_back(make(rank, size.receive));
    if (size.send > Bytes(0)) {
      const auto message = operations_.size() * 100000 + static_cast<std::size_t>(rank);
      fill_pattern(fabric_->bytes(operation.sent.back()), message);
    }
    if (size.receive > Bytes(0)) {
      std::ranges::fill(fabric_->bytes(operation.received.back()), kUntouched);
    }
  }
}

std::size_t PatternRun::add(const Pattern& pattern, const Plans& plans, std::uint16_t communicator,
                            const std::vector<Rank>& members) {
  Operation operation;
  operation.pattern = pattern;
  operation.plans = plans;
  operation.communicator = communicator;
  if (!members.empty()) operation.members = std::make_shared<const std::vector<Rank>>(members);
  operation.works.resize(static_cast<std::size_t>(job_->rank_count()));
  allocate(operation);
  operations_.push_back(std::move(operation));
  return operations_.size() - 1;
}

void PatternRun::enqueue(std::size_t number, Rank member, StreamId stream) {
  Operation& operation = operations_.at(number);
  const Plans& plans = operation.plans;
  const auto& plan =
      plans.size() == 1 ? plans.front() : plans[fabric_->topology().node_of(member).index()];
  operation.works[member.index()] =
      job_->communicator(member, operation.communicator)
          .run(plan, operation.sent[member.index()], operation.received[member.index()], stream,
               operation.members);
  fabric_->enqueue_callback(member, stream, [this, number] {
    operations_[number].end = std::max(operations_[number].end, fabric_->now());
  });
}

std::size_t PatternRun::enqueue(const Pattern& pattern, const Plans& plans, StreamId stream) {
  const std::size_t number = add(pattern, plans, 0);
  for (int rank = 0; rank < job_->rank_count(); ++rank) enqueue(number, Rank(rank), stream);
  return number;
}

Seconds PatternRun::end() const {
  Seconds last(0.0);
  for (const Operation& operation : operations_) last = std::max(last, operation.end);
  return last;
}

void PatternRun::run() { run_end_ = fabric_->run(job_->proxies()); }

std::optional<Status> PatternRun::status(std::size_t operation, Rank rank) const {
  const auto& work = operations_.at(operation).works[rank.index()];
  return work == nullptr ? std::nullopt : work->status();
}

std::string PatternRun::wrong() {
  if (run_end_ != RunEnd::kIdle) return "it did not come to an end";
  for (std::size_t i = 0; i < operations_.size(); ++i) {
    const std::string found = wrong(operations_[i]);
    if (!found.empty()) return fmt::format("operation {}, {}", i, found);
  }
  if (!job_->quiescent()) return "a proxy has work left";
  if (!fabric_->streams_drained()) return "a stream did not go on";
  return fabric_->unfinished();
}

std::string PatternRun::wrong(const Operation& operation) {
  std::vector<std::vector<std::byte>> expected;
  for (const Region& region : operation.received) {
    expected.emplace_back(static_cast<std::size_t>(region.size.count()), kUntouched);
  }
  for (const Flow& flow : operation.pattern.flows) {
    if (flow.size == Bytes(0)) continue;
    const auto source = fabric_->bytes(operation.sent[flow.source.index()])
                            .subspan(static_cast<std::size_t>(flow.source_offset.count()),
                                     static_cast<std::size_t>(flow.size.count()));
    for (const Rank target : targets_of(flow)) {
      std::ranges::copy(source, expected[target.index()].begin() + flow.target_offset.count());
    }
  }
  for (std::size_t rank = 0; rank < expected.size(); ++rank) {
    if (operation.works[rank] != nullptr) {
      const auto status = operation.works[rank]->status();
      if (!status) return fmt::format("rank {} did not end", rank);
      if (!status->ok()) return fmt::format("rank {}: {}", rank, to_string(*status));
    }
    if (expected[rank].empty()) continue;
    const auto received = fabric_->bytes(operation.received[rank]);
    const auto difference = std::ranges::mismatch(expected[rank], received);
    if (difference.in1 != expected[rank].end()) {
      return fmt::format("rank {}: byte {} is wrong", rank,
                         difference.in1 - expected[rank].begin());
    }
  }
  return "";
}

}  // namespace hoccl::engine
