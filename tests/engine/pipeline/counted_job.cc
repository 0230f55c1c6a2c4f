#include "tests/engine/pipeline/counted_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/byte_pattern.h"

namespace hoccl::engine {
namespace {

CompileOptions compile_options() {
  CompileOptions options;
  options.chunk_size = CountedJob::kChunk;
  options.forwarding = Forwarding::kBalanced;
  return options;
}

}  // namespace

IdealOptions CountedJob::fabric_options(Timing timing, std::uint64_t seed) {
  IdealOptions options;
  options.timing = timing;
  options.seed = seed;
  options.slot_size = kChunk;
  options.send_slots = 3;
  options.receive_slots = 3;
  return options;
}

CountedJob::CountedJob(const IdealOptions& fabric, const PipelineOptions& pipeline)
    : fabric_(resolve_topology("h800-2x4"), fabric),
      job_(fabric_, kRanks, pipeline, compile_options()) {}

std::size_t CountedJob::add(TrafficMatrix matrix, std::uint16_t communicator) {
  Operation operation;
  operation.communicator = communicator;
  operation.works.resize(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    const Bytes sent(matrix.row(rank).sum());
    const Bytes received(matrix.col(rank).sum());
    operation.sent.push_back({fabric_.allocate(Rank(rank), sent), Bytes(0), sent});
    operation.received.push_back({fabric_.allocate(Rank(rank), received), Bytes(0), received});
    fill_pattern(fabric_.bytes(operation.sent.back()),
                 operations_.size() * 100 + static_cast<std::size_t>(rank));
  }
  operation.matrix = std::move(matrix);
  operations_.push_back(std::move(operation));
  return operations_.size() - 1;
}

void CountedJob::call(std::size_t number, Rank rank, StreamId stream, Bytes missing) {
  Operation& operation = operations_.at(number);
  const auto row = operation.matrix.row(rank.value());
  Region receive = operation.received[rank.index()];
  receive.size -= missing;
  operation.works[rank.index()] =
      job_.communicator(rank, operation.communicator)
          .all_to_all_v(std::vector<std::int64_t>(row.begin(), row.end()), false,
                        operation.sent[rank.index()], receive, stream);
}

void CountedJob::call_all(std::size_t operation, StreamId stream) {
  for (int rank = 0; rank < kRanks; ++rank) call(operation, Rank(rank), stream);
}

std::optional<Status> CountedJob::status(std::size_t operation, Rank rank) const {
  const auto& work = operations_.at(operation).works[rank.index()];
  return work == nullptr ? std::nullopt : work->status();
}

std::string CountedJob::wrong(std::size_t number) {
  const Operation& operation = operations_.at(number);
  for (int target = 0; target < kRanks; ++target) {
    const std::optional<Status> ended = status(number, Rank(target));
    if (!ended) return fmt::format("rank {} did not end", target);
    if (!ended->ok()) return fmt::format("rank {}: {}", target, to_string(*ended));
    // Blocks lie in the order of the peers.
    std::int64_t begin = 0;
    for (int source = 0; source < kRanks; ++source) {
      const std::int64_t size = operation.matrix(source, target);
      const std::int64_t sent_begin = operation.matrix.row(source).head(target).sum();
      const auto from = static_cast<std::size_t>(source);
      const auto to = static_cast<std::size_t>(target);
      if (!std::ranges::equal(
              fabric_.bytes(Region{operation.sent[from].buffer, Bytes(sent_begin), Bytes(size)}),
              fabric_.bytes(Region{operation.received[to].buffer, Bytes(begin), Bytes(size)}))) {
        return fmt::format("bytes of rank {} are wrong at rank {}", source, target);
      }
      begin += size;
    }
  }
  return "";
}

}  // namespace hoccl::engine
