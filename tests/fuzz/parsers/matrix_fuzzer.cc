// Any text is either a square traffic matrix, and then the same one when it is written and read
// again, or refused in one line; so is the AllToAllv it stands for.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/config_error.h"
#include "engine/pattern/traffic_matrix.h"

namespace {

using hoccl::engine::TrafficMatrix;

std::string written(const TrafficMatrix& matrix) {
  std::string text;
  for (Eigen::Index source = 0; source < matrix.rows(); ++source) {
    for (Eigen::Index target = 0; target < matrix.cols(); ++target) {
      text += fmt::format("{}{}", target == 0 ? "" : ",", matrix(source, target));
    }
    text += '\n';
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hoccl::engine;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const TrafficMatrix matrix = matrix_from_csv(text, "fuzz.csv");
    HOCCL_CHECK(matrix_from_csv(written(matrix), "again") == matrix, "another matrix: {}", text);
    const Pattern pattern = all_to_all_v(matrix, false);
    for (const Flow& flow : pattern.flows) {
      HOCCL_CHECK(flow.size > Bytes(0) && flow.source_offset + flow.size <= pattern.message_size &&
                      flow.target_offset + flow.size <= pattern.message_size,
                  "flow of {} bytes in {}", flow.size.count(), pattern.message_size.count());
    }
  } catch (const ConfigError& error) {
    HOCCL_CHECK(std::string_view(error.what()).find('\n') == std::string_view::npos,
                "more than one line: {}", error.what());
  }
  return 0;
}
