#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/pattern/traffic_matrix.h"
#include "tests/support/ideal_fabric.h"
#include "tests/support/job.h"

namespace hoccl::engine {

/// AllToAllvs of which every rank knows its own row only, on two nodes of four GPUs.
class CountedJob {
 public:
  static constexpr int kRanks = 8;
  static constexpr Bytes kChunk{1024};

  explicit CountedJob(const IdealOptions& fabric, const PipelineOptions& pipeline = {});
  /// A fabric with slots for such chunks.
  static IdealOptions fabric_options(Timing timing, std::uint64_t seed = 1);

  IdealFabric& fabric() { return fabric_; }
  Job& job() { return job_; }

  /// An AllToAllv of these counts (by rank). Returns its number.
  std::size_t add(TrafficMatrix matrix, std::uint16_t communicator = 0);
  /// The rank calls it, with `missing` bytes too few to receive into.
  void call(std::size_t operation, Rank rank, StreamId stream = StreamId(0),
            Bytes missing = Bytes(0));
  void call_all(std::size_t operation, StreamId stream = StreamId(0));
  RunEnd run() { return fabric_.run(job_.proxies()); }

  /// Null while it runs or if the rank has not called it.
  [[nodiscard]] std::optional<Status> status(std::size_t operation, Rank rank) const;
  /// Empty when every rank ended well, with the right bytes.
  [[nodiscard]] std::string wrong(std::size_t operation);

 private:
  struct Operation {
    TrafficMatrix matrix;
    std::uint16_t communicator = 0;
    std::vector<Region> sent;
    std::vector<Region> received;
    std::vector<std::shared_ptr<Work>> works;
  };

  IdealFabric fabric_;
  Job job_;
  std::vector<Operation> operations_;
};

}  // namespace hoccl::engine
