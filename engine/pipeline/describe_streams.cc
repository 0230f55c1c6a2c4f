#include <fmt/format.h>

#include <iterator>

#include "engine/pipeline/stream_manager.h"

namespace hoccl::engine {

void StreamManager::describe(std::string& out) const {
  const auto add = std::back_inserter(out);
  for (const auto& [gate, state] : gates_) {
    fmt::format_to(
        add, "gate of communicator {} stream {}: reached {}, opened {}, {} groups open\n",
        gate.communicator, gate.stream, state.reached, state.opened, state.groups.size());
    for (const Group& group : state.groups) {
      fmt::format_to(add, "  group {}: {}, {} of {} operations unfinished\n", group.sequence,
                     group.started ? "started" : "its stream is not there", group.unfinished,
                     group.operations.size());
    }
  }
}

}  // namespace hoccl::engine
