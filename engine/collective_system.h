#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/base/ids.h"
#include "engine/fabric.h"

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

/// What a caller can ask of a system under study on one rank: our Communicator, or a rival model.
class CollectiveSystem {
 public:
  virtual ~CollectiveSystem() = default;
  /// Enqueues on the stream and returns at once. Requests of one group may run in any order.
  virtual std::shared_ptr<Work> enqueue(std::span<const SendRecvRequest> group,
                                        StreamId stream) = 0;
};

}  // namespace hoccl::engine
