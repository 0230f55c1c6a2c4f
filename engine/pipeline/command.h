#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "engine/base/operation_id.h"
#include "engine/fabric.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// An AllToAllv that is planned when all ranks' counts are known.
struct Counts {
  /// Bytes for each rank of the operation.
  std::vector<std::int64_t> row;
  /// From the whole matrix, on the proxy's side; null when a buffer is too small for it.
  std::function<std::shared_ptr<const Plan>(const TrafficMatrix&)> plan;
};

/// One rank's share of an operation. Which transfers it sends and receives follows from the plan.
struct Operation {
  OperationId id;
  std::shared_ptr<const Plan> plan;  ///< null: `counts` first
  std::shared_ptr<const Counts> counts = {};
  Region send_buffer;     ///< size 0 when this rank sends nothing
  Region receive_buffer;  ///< size 0 when this rank receives nothing
  /// Ranks that run it, ascending; null: all. Barriers between stages and counts ask.
  std::shared_ptr<const std::vector<Rank>> members = nullptr;
};

/// Operations that share one gate: they start when the stream has reached `sequence`, and the
/// stream goes on when all of them have ended.
struct SubmitGroup {
  Gate gate;
  Sequence sequence = 0;
  WorkId work;
  std::vector<Operation> operations;
};

/// Ends every unfinished operation of the communicator with Cause::kAborted, here and at its peers.
struct AbortCommunicator {
  std::uint16_t communicator = 0;
};

/// What the application hands to its rank's proxy through the fabric's mailbox.
struct Command {
  std::variant<SubmitGroup, AbortCommunicator> body;
};

}  // namespace hoccl::engine
