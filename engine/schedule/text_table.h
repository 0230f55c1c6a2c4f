#pragma once

#include <string>
#include <vector>

namespace hoccl::engine {

/// A small table of right-aligned columns, for people.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_({std::move(head)}) {}

  void add(std::vector<std::string> row);

  /// Begins with an empty line; of many rows the first. Empty when no row was added.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace hoccl::engine
