#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/command.h"

namespace hoccl::engine {

/// The CPU-GPU handshake that keeps operations in stream order (paper §3.2). Per gate, i.e. per
/// (communicator, stream), sequence numbers grow monotonically: the stream announces that it has
/// reached one, the manager starts that group, and opens the gate when the group has ended.
/// Different gates progress independently.
class StreamManager {
 public:
  StreamManager(Port& port, std::function<void(const OperationId&)> start);

  /// Accepts a group; act() starts it once its stream is there.
  void submit(const SubmitGroup& group);
  void gate_reached(const GateReached& reached);
  /// One operation of a group has ended, well or not. A stream is never left hanging: its gate
  /// opens after an error too, and the Work carries the status.
  void operation_ended(const OperationId& operation, const Status& status);
  /// Starts groups whose stream has reached them and opens the gates of groups that have ended.
  void act();

  [[nodiscard]] bool idle() const;
  /// Appends lines for a person.
  void describe(std::string& out) const;

 private:
  struct Group {
    Sequence sequence = 0;
    WorkId work;
    std::vector<OperationId> operations;
    std::size_t unfinished = 0;
    Status first_error;
    bool started = false;
  };
  struct GateState {
    Sequence reached = 0;
    Sequence opened = 0;
    std::deque<Group> groups;  ///< unfinished ones, by sequence
  };

  void start_reached(GateState& state);
  void open_ended(Gate gate, GateState& state);

  Port& port_;
  std::function<void(const OperationId&)> start_;
  std::map<Gate, GateState> gates_;
  std::vector<Gate> changed_;  ///< where a group may start or have ended
  std::unordered_map<OperationId, std::pair<Gate, Sequence>> group_of_;
};

}  // namespace hoccl::engine
