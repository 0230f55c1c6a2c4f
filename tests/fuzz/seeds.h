#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace hoccl::engine {

/// Runs `check` for many seeds and reports the first few that fail; `check` returns what is wrong,
/// or nothing. HOCCL_FUZZ_SEEDS sets how many (instead of `count`), HOCCL_FUZZ_SEED picks one. The
/// seed of a broken invariant is printed before the process aborts.
/// Shards split the seeds, so that ctest runs them in parallel.
void for_each_seed(std::uint64_t count, std::uint64_t shard, std::uint64_t shards,
                   const std::function<std::string(std::uint64_t seed)>& check);

}  // namespace hoccl::engine
