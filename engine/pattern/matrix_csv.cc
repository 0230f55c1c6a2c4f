#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/base/text_file.h"
#include "engine/pattern/request_check.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {
namespace {

constexpr std::string_view kBlank = " \t\r";

/// Short and printable, whatever the file holds.
std::string printed(std::string_view text) {
  constexpr std::size_t kMostPrinted = 40;
  std::string shown(text.substr(0, kMostPrinted));
  for (char& letter : shown) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return text.size() > kMostPrinted ? shown + "..." : shown;
}

class CsvReader {
 public:
  explicit CsvReader(const std::string& name) : name_(name) {}

  TrafficMatrix read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      read_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (rows_ == 0) fail(line_ + 1, 1, "found no numbers", "a row of sizes for every rank");
    if (rows_ < columns_) {
      fail(line_ + 1, 1, fmt::format("found {} rows", rows_),
           fmt::format("{}, as many as columns", columns_));
    }
    return Eigen::Map<const TrafficMatrix>(sizes_.data(), rows_, columns_);
  }

 private:
  void read_line(std::string_view line) {
    if (line.starts_with('#') || line.find_first_not_of(kBlank) == std::string_view::npos) return;
    if (rows_ > 0 && rows_ == columns_) {
      fail(line_, 1, "found one row more", fmt::format("{}, as many as columns", columns_));
    }
    Eigen::Index fields = 0;
    std::size_t begin = 0;
    while (true) {
      const std::size_t end = std::min(line.find(',', begin), line.size());
      if (fields == (rows_ == 0 ? kMaxPairwiseRanks : columns_)) {
        fail(line_, begin + 1, fmt::format("found more than {} numbers", fields),
             rows_ == 0 ? "no more ranks than that" : "as many as in the first row");
      }
      sizes_.push_back(size_in(line.substr(begin, end - begin), begin + 1));
      ++fields;
      if (end == line.size()) break;
      begin = end + 1;
    }
    if (rows_ == 0) columns_ = fields;
    if (fields < columns_) {
      fail(line_, line.size() + 1, fmt::format("found {} numbers", fields),
           fmt::format("{}, as in the first row", columns_));
    }
    ++rows_;
  }

  [[nodiscard]] std::int64_t size_in(std::string_view field, std::size_t column) const {
    const std::size_t first = std::min(field.find_first_not_of(kBlank), field.size());
    field.remove_prefix(first);
    field = field.substr(0, field.find_last_not_of(kBlank) + 1);  // npos + 1 is 0
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), size);
    const bool whole = error == std::errc() && end == field.data() + field.size();
    if (!whole || size < 0 || size > kMaxMessageSize.count()) {
      fail(line_, column + first, fmt::format("found '{}'", printed(field)),
           fmt::format("a whole number of bytes from 0 to {}", kMaxMessageSize.count()));
    }
    return size;
  }

  [[noreturn]] void fail(std::int64_t line, std::size_t column, std::string_view found,
                         std::string_view expected) const {
    throw ConfigError(
        fmt::format("{}:{}:{}: {}: expected {}", name_, line, column, found, expected));
  }

  const std::string& name_;
  std::int64_t line_ = 0;
  Eigen::Index rows_ = 0;
  Eigen::Index columns_ = 0;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

TrafficMatrix matrix_from_csv(std::string_view text, const std::string& name) {
  return CsvReader(name).read(text);
}

TrafficMatrix load_matrix(const std::filesystem::path& file) {
  return matrix_from_csv(read_text_file(file, "a traffic matrix (CSV)"), file.string());
}

}  // namespace hoccl::engine
