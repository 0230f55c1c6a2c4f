#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/schedule/plan.h"

namespace hoccl::engine {

/// What the parts of the verifier found, one line each, naming the transfer.
class Violations {
 public:
  template <class... Args>
  void add(const Transfer& transfer, fmt::format_string<Args...> text, Args&&... args) {
    lines_.push_back(fmt::format("transfer {}: {}", transfer.id,
                                 fmt::format(text, std::forward<Args>(args)...)));
  }
  template <class... Args>
  void add_plan(fmt::format_string<Args...> text, Args&&... args) {
    add_line(fmt::format("plan: {}", fmt::format(text, std::forward<Args>(args)...)));
  }
  void add_line(std::string line) { lines_.push_back(std::move(line)); }

  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

}  // namespace hoccl::engine
