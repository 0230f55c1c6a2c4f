#include "tests/hw/bootstrap/thread_job.h"

#include <gtest/gtest.h>

#include <thread>

#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/thread_ranks.h"

namespace hoccl::hw::test {

std::vector<Launch> make_launches(int size) { return make_local_launches(size); }

std::vector<std::string> run_ranks(int size, const std::function<void(int rank)>& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const BootstrapError& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

std::vector<std::unique_ptr<Bootstrap>> connect_all(int size, const BootstrapOptions& options) {
  const std::vector<Launch> launches = make_launches(size);
  std::vector<std::unique_ptr<Bootstrap>> ranks(launches.size());
  const auto errors = run_ranks(size, [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    ranks[index] = Bootstrap::connect(launches[index], options);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return ranks;
}

}  // namespace hoccl::hw::test
