#include "engine/schedule/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/check.h"

namespace hoccl::engine {

void TextTable::add(std::vector<std::string> row) {
  HOCCL_CHECK(row.size() == rows_.front().size(), "{} cells in {} columns", row.size(),
              rows_.front().size());
  rows_.push_back(std::move(row));
}

std::string TextTable::text() const {
  // About a screen; a ring over 1024 GPUs would fill twenty of them.
  constexpr std::size_t kMostRows = 64;
  if (rows_.size() == 1) return "";
  const std::size_t shown = std::min(rows_.size(), kMostRows + 1);
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (std::size_t row = 0; row < shown; ++row) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], rows_[row][column].size());
    }
  }
  std::string result = "\n";
  for (std::size_t row = 0; row < shown; ++row) {
    for (std::size_t column = 0; column < widths.size(); ++column) {
      result +=
          fmt::format("{}{:>{}}", column == 0 ? "" : "  ", rows_[row][column], widths[column]);
    }
    result += '\n';
  }
  if (shown < rows_.size()) result += fmt::format("... and {} more\n", rows_.size() - shown);
  return result;
}

}  // namespace hoccl::engine
