#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hoccl::sim {

/// A simulation that did not end with a result: its process died, or it reported a failure.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Calls `task(i)` for every i below `count`, each in a process of its own (SimGrid keeps global
/// state, so a process holds one simulation), at most `jobs` at a time, and returns what they
/// returned, in order. A ConfigError in a task is thrown here again; any other end without a result
/// is a RunError that names `label(i)`. After the first failure nothing new is started.
std::vector<std::string> run_forked(std::size_t count, int jobs,
                                    const std::function<std::string(std::size_t)>& task,
                                    const std::function<std::string(std::size_t)>& label);

}  // namespace hoccl::sim
