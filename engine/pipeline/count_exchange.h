#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/fabric.h"
#include "engine/pattern/traffic_matrix.h"
#include "engine/pipeline/command.h"
#include "engine/pipeline/messages.h"
#include "engine/pipeline/options.h"

namespace hoccl::engine {

/// Before an AllToAllv can be planned every rank has to know all counts, but each is called with
/// its own row only: here the rows are exchanged, as small messages from everyone to everyone, and
/// the operation is planned when the last one has come. Begins at the call, not when the stream is
/// there: counts are the CPU's.
class CountExchange {
 public:
  struct Observers {
    /// It has its plan now.
    std::function<void(const Operation&)> planned;
    /// Its stream has reached it.
    std::function<void(const OperationId&)> start;
    /// It ended without ever having one.
    std::function<void(const OperationId&, const Status&)> ended;
  };

  CountExchange(Port& port, const PipelineOptions& options, Observers observers);

  /// Of an operation with counts.
  void begin(const Operation& operation);
  /// False when the operation does not wait here.
  bool start(const OperationId& id);
  void counts(Rank source, const CountsMessage& message);
  /// False when the operation does not wait here.
  bool failed(Rank reporter, const FailedMessage& message);
  void peer_lost(Rank peer);
  void abort(std::uint16_t communicator);

  void end_overdue(Seconds now);
  [[nodiscard]] std::optional<Seconds> next_deadline() const;
  [[nodiscard]] bool quiescent() const { return waiting_.empty(); }
  /// Appends lines for a person.
  void describe(std::string& out) const;

 private:
  /// The rows that have come, perhaps before the operation itself.
  struct Rows {
    std::map<Rank, std::vector<std::int64_t>> rows;  ///< as far as they have come
    std::map<Rank, std::size_t> received;            ///< numbers of each
  };
  struct Waiting {
    Operation operation;
    std::vector<Rank> members;
    bool started = false;
    Seconds started_at{0.0};
  };

  [[nodiscard]] Status status_of(Cause cause, Rank peer) const;
  void send_row(const Waiting& waiting);
  void plan_if_complete(const OperationId& id);
  void end(const OperationId& id, Status status, Rank reporter);

  Port& port_;
  const PipelineOptions& options_;
  Observers observers_;
  std::map<OperationId, Waiting> waiting_;
  std::map<OperationId, Rows> rows_;
  std::set<Rank> lost_;
};

}  // namespace hoccl::engine
