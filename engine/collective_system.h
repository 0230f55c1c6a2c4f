#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/ids.h"
#include "engine/fabric.h"
#include "engine/pattern/pattern.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {

/// Handle of one enqueued operation or group.
class Work {
 public:
  virtual ~Work() = default;
  /// How it ended; nothing while it runs.
  [[nodiscard]] virtual std::optional<Status> status() const = 0;
};

/// One rank's share of a point-to-point operation.
struct SendRecvRequest {
  enum class Side : std::uint8_t { kSend, kReceive };
  Side side = Side::kSend;
  Rank peer;
  Region buffer;
};

/// One rank's share of a collective. All ranks that take part pass the same but for the buffers.
struct CollectiveRequest {
  PatternRequest pattern;  ///< ranks in it are those of the communicator
  /// alltoallv: bytes from this rank to each; the other rows are asked for. The pattern's size and
  /// its kind of matrix count nothing then.
  std::vector<std::int64_t> row = {};
  /// alltoallv where every rank knows all counts: bytes from each rank to each.
  std::shared_ptr<const TrafficMatrix> matrix = {};
  Region send_buffer = {};     ///< size 0 when this rank sends nothing
  Region receive_buffer = {};  ///< size 0 when this rank receives nothing
};

/// What a caller can ask of a system under study on one rank: our Communicator, or a rival model.
class CollectiveSystem {
 public:
  virtual ~CollectiveSystem() = default;
  /// Enqueues on the stream and returns at once. Requests of one group may run in any order.
  virtual std::shared_ptr<Work> enqueue(std::span<const SendRecvRequest> group,
                                        StreamId stream) = 0;
  virtual std::shared_ptr<Work> enqueue(const CollectiveRequest& request, StreamId stream) = 0;
};

}  // namespace hoccl::engine
