#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hoccl::engine {

/// How an AllToAllv's traffic is spread, drawn from a seed. Every rank may send to itself too: a
/// pair is a source and any target.
enum class MatrixKind : std::uint8_t {
  kUniform,     ///< every pair the same, as alltoall
  kRandom,      ///< every pair independently 0 to 2 times the mean
  kZipf,        ///< targets by Zipf's law (exponent 1), the same hot ones for every source
  kZipfSource,  ///< targets by Zipf's law, hot ones drawn anew for every source
  kSparse,      ///< one pair in four, random sizes; every rank sends to another at least
  kMoe,         ///< tokens routed to their top experts (mixture of experts)
};

/// All of them, in the order in which they are listed to people.
std::vector<MatrixKind> matrix_kinds();
/// "uniform", "random", "zipf", "zipf-source", "sparse", "moe".
std::string_view to_string(MatrixKind kind);
/// Throws ConfigError, listing the known ones.
MatrixKind parse_matrix_kind(std::string_view name);

}  // namespace hoccl::engine
