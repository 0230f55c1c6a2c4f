#include "engine/pattern/matrix_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/check.h"
#include "engine/base/config_error.h"

namespace hoccl::engine {

std::vector<MatrixKind> matrix_kinds() {
  return {MatrixKind::kUniform,    MatrixKind::kRandom, MatrixKind::kZipf,
          MatrixKind::kZipfSource, MatrixKind::kSparse, MatrixKind::kMoe};
}

std::string_view to_string(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::kUniform:
      return "uniform";
    case MatrixKind::kRandom:
      return "random";
    case MatrixKind::kZipf:
      return "zipf";
    case MatrixKind::kZipfSource:
      return "zipf-source";
    case MatrixKind::kSparse:
      return "sparse";
    case MatrixKind::kMoe:
      return "moe";
  }
  HOCCL_CHECK(false, "matrix kind {}", static_cast<int>(kind));
}

MatrixKind parse_matrix_kind(std::string_view name) {
  std::vector<std::string_view> names;
  for (const MatrixKind kind : matrix_kinds()) {
    if (to_string(kind) == name) return kind;
    names.push_back(to_string(kind));
  }
  throw ConfigError(
      fmt::format("matrix = '{}': expected one of: {}", name, fmt::join(names, ", ")));
}

}  // namespace hoccl::engine
