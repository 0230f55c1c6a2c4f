#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/fabric.h"
#include "engine/pipeline/messages.h"

namespace hoccl::engine {

/// The barrier between stages, where one is wanted (PipelineOptions::barrier): every rank of an
/// operation tells its first rank below which stage it has sent everything, and is told which
/// stages may begin.
class StageBarrier {
 public:
  /// Everything is sent.
  static constexpr std::int32_t kNoMore = std::int32_t{1} << 30;

  explicit StageBarrier(Port& port) : port_(port) {}

  /// This rank has nothing left to send below `stage`.
  void done_below(const OperationId& operation, const std::vector<Rank>& members,
                  std::int32_t stage);
  /// At the first rank.
  void stage_done(Rank source, const StageMessage& message);
  void forget(const OperationId& operation) { operations_.erase(operation); }

 private:
  struct State {
    std::vector<Rank> to_tell;  ///< empty until this rank has come to it
    std::map<Rank, std::int32_t> next;
    std::int32_t open = -1;
  };
  void open_if_all_are_there(const OperationId& operation, State& state);

  Port& port_;
  std::map<OperationId, State> operations_;
};

}  // namespace hoccl::engine
