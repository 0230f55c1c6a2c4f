#include "engine/pattern/pattern_file.h"

#include <fmt/format.h>

#include "engine/base/config_error.h"
#include "engine/pattern/flow_list.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {

Pattern load_pattern(const std::filesystem::path& file, bool in_place) {
  if (file.extension() == ".csv") return all_to_all_v(load_matrix(file), in_place);
  if (file.extension() == ".json") return load_flow_list(file);
  throw ConfigError(
      fmt::format("{}: expected a file name that ends in .csv (traffic matrix) or "
                  ".json (flow list)",
                  file.string()));
}

}  // namespace hoccl::engine
