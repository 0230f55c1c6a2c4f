// Every pattern of the program on RDMA, as `hoccl run --check` runs it: real processes, real bytes,
// each of which is checked. (The program itself takes two seconds to start on an emulated CPU.)

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/thread_ranks.h"
#include "hw/run/measurement.h"

namespace hoccl::hw {
namespace {

using namespace engine::literals;

RunScenario scenario_of(const std::string& pattern, int ranks) {
  RunScenario scenario{.topology = engine::preset_topology("h800-2x2").with_ranks(ranks)};
  scenario.traffic.request.name = pattern;
  scenario.compile.chunk_size = 64_KiB;
  scenario.hardware.link = LinkKind::kVerbs;
  scenario.hardware.verbs.devices = "rxe0/rxe1";
  scenario.hardware.slots = 8;
  scenario.hardware.slot_size = 64_KiB;
  scenario.iterations = 1;
  scenario.rounds = 1;
  scenario.check = true;
  return scenario;
}

int run_rank(const RunScenario& scenario, const Launch& launch) {
  try {
    HwFabric fabric(Bootstrap::connect(launch, BootstrapOptions()), scenario.topology,
                    scenario.hardware);
    Measurement measurement(fabric, scenario, 512_KiB);
    for (const engine::Bytes size : {4_KiB, 512_KiB}) measurement.measure(size);
    measurement.finish();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "rank {}: {}\n", launch.rank, error.what());
    return 1;
  }
}

struct Case {
  std::string pattern;
  int ranks = 0;
};

class Patterns : public testing::TestWithParam<Case> {};

TEST_P(Patterns, DeliverEveryByte) {
  const RunScenario scenario = scenario_of(GetParam().pattern, GetParam().ranks);
  std::vector<pid_t> processes;
  const std::vector<Launch> launches = make_local_launches(GetParam().ranks);
  for (const Launch& launch : launches) {
    const pid_t process = ::fork();
    ASSERT_GE(process, 0);
    if (process == 0) ::_exit(run_rank(scenario, launch));
    processes.push_back(process);
  }
  for (const Launch& launch : launches) {
    if (launch.listening_socket >= 0) ::close(launch.listening_socket);
  }
  for (const pid_t process : processes) {
    int status = -1;
    ::waitpid(process, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const char* pattern : {"sendrecv", "sendrecv-ring", "allgather", "alltoall", "alltoallv",
                              "broadcast", "gather", "scatter", "ppchain"}) {
    for (const int ranks : {2, 3, 4}) result.push_back({pattern, ranks});
  }
  return result;
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = fmt::format("{}On{}Ranks", info.param.pattern, info.param.ranks);
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Verbs, Patterns, testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace hoccl::hw
