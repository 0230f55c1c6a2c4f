#include "tests/fuzz/seeds.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace hoccl::engine {
namespace {

/// Failures after which a run stops: the first says what is wrong, some more how common it is.
constexpr int kEnoughFailures = 5;

/// How a broken invariant ends the process.
constexpr std::array kSignals = {SIGABRT, SIGSEGV};

std::uint64_t current_seed = 0;

void print_seed_and_die(int signal) {
  std::fprintf(stderr, "seed %llu broke an invariant; repeat with HOCCL_FUZZ_SEED=%llu\n",
               static_cast<unsigned long long>(current_seed),
               static_cast<unsigned long long>(current_seed));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

void for_each_seed(std::uint64_t count, std::uint64_t shard, std::uint64_t shards,
                   const std::function<std::string(std::uint64_t seed)>& check) {
  std::uint64_t first = shard;
  std::uint64_t end = from_environment("HOCCL_FUZZ_SEEDS", count);
  if (std::getenv("HOCCL_FUZZ_SEED") != nullptr) {
    first = from_environment("HOCCL_FUZZ_SEED", 0);
    if (first % shards != shard) GTEST_SKIP() << "seed " << first << " is of another shard";
    end = first + 1;
  }
  for (const int signal : kSignals) std::signal(signal, print_seed_and_die);
  int failures = 0;
  for (std::uint64_t seed = first; seed < end && failures < kEnoughFailures; seed += shards) {
    current_seed = seed;
    const std::string wrong = check(seed);
    if (wrong.empty()) continue;
    ADD_FAILURE() << "seed " << seed << " (repeat with HOCCL_FUZZ_SEED=" << seed << "): " << wrong;
    ++failures;
  }
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

}  // namespace hoccl::engine
