#include "hw/bootstrap/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "engine/base/config_error.h"

namespace hoccl::hw {
namespace {

using engine::ConfigError;
using engine::Rank;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr const char* kSecret = "00112233445566778899aabbccddeeff";

using Variables = std::map<std::string, std::string>;

std::optional<Launch> read(const Variables& variables) {
  return read_launch([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}
std::string error_of(const Variables& variables) {
  try {
    static_cast<void>(read(variables));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

const Variables kOwn = {{"HOCCL_RANK", "2"},
                        {"HOCCL_SIZE", "4"},
                        {"HOCCL_RENDEZVOUS", "127.0.0.1:4711"},
                        {"HOCCL_JOB_SECRET", kSecret}};
const Variables kMpirun = {
    {"OMPI_COMM_WORLD_RANK", "3"},       {"OMPI_COMM_WORLD_SIZE", "8"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}, {"PMIX_NAMESPACE", "10139729"},
    {"HOCCL_JOB_SECRET", kSecret},
};
const Variables kSrun = {
    {"SLURM_PROCID", "1"},         {"SLURM_NTASKS", "4"},
    {"SLURM_STEP_ID", "0"},        {"SLURM_JOB_ID", "77"},
    {"SLURM_STEP_NUM_NODES", "2"}, {"SLURM_STEP_NODELIST", "node[07-08]"},
    {"SLURM_STEP_NUM_TASKS", "2"}, {"HOCCL_JOB_SECRET", kSecret},
};
const Variables kTorchrun = {
    {"RANK", "1"},
    {"WORLD_SIZE", "2"},
    {"MASTER_ADDR", "node1"},
    {"MASTER_PORT", "29500"},
    {"HOCCL_JOB_SECRET", kSecret},
};

TEST(LaunchEnvironment, NothingIsNoLaunch) {
  EXPECT_FALSE(read({}).has_value());
  EXPECT_FALSE(read({{"HOCCL_JOB_SECRET", kSecret}, {"RANK", "1"}}).has_value());
}

TEST(LaunchEnvironment, OfOurOwnLauncher) {
  const Launch launch = read(kOwn).value();
  EXPECT_EQ(launch.launcher, "hoccl");
  EXPECT_EQ(launch.rank, Rank(2));
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.host, "127.0.0.1");
  EXPECT_THAT(launch.ports, ElementsAre(4711));
  EXPECT_EQ(launch.secret, JobSecret::parse(kSecret));
  EXPECT_EQ(launch.listening_socket, -1);
}

TEST(LaunchEnvironment, OnlyRankZeroInheritsTheListeningSocket) {
  const Variables inherited = with(kOwn, {{"HOCCL_LISTENING_SOCKET", "5"}});
  EXPECT_EQ(read(inherited)->listening_socket, -1);
  EXPECT_EQ(read(with(inherited, {{"HOCCL_RANK", "0"}}))->listening_socket, 5);
}

TEST(LaunchEnvironment, OfMpirunOnOneHostMeetsOnDerivedPortsOfTheLoopback) {
  const Launch launch = read(kMpirun).value();
  EXPECT_EQ(launch.launcher, "mpirun");
  EXPECT_EQ(launch.rank, Rank(3));
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.host, "");
  EXPECT_THAT(launch.ports, AllOf(SizeIs(Ge(4U)), Each(AllOf(Ge(1024), Lt(32768)))));
  const Launch other_rank = read(with(kMpirun, {{"OMPI_COMM_WORLD_RANK", "0"}})).value();
  EXPECT_EQ(other_rank.ports, launch.ports);
  EXPECT_EQ(other_rank.secret, launch.secret);
}

TEST(LaunchEnvironment, TwoJobsWithOneSecretDoNotMeet) {
  for (const auto& [variables, name] :
       {std::pair(kMpirun, "PMIX_NAMESPACE"), std::pair(kSrun, "SLURM_STEP_ID"),
        std::pair(kTorchrun, "MASTER_PORT")}) {
    const Launch first = read(variables).value();
    const Launch second = read(with(variables, {{name, "4444"}})).value();
    EXPECT_NE(first.ports, second.ports) << name;
    EXPECT_FALSE(first.secret == second.secret) << name;
  }
}

TEST(LaunchEnvironment, OfMpirunOnSeveralHostsNeedsARendezvous) {
  const Variables spread = with(kMpirun, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  EXPECT_THAT(error_of(spread), AllOf(HasSubstr("HOCCL_RENDEZVOUS=host:port"),
                                      HasSubstr("mpirun -x HOCCL_RENDEZVOUS")));
  const Launch launch = read(with(spread, {{"HOCCL_RENDEZVOUS", "[fe80::1]:99"}})).value();
  EXPECT_EQ(launch.host, "fe80::1");
  EXPECT_THAT(launch.ports, ElementsAre(99));
}

TEST(LaunchEnvironment, OfSrunMeetsOnTheFirstHostOfTheStep) {
  const Launch launch = read(kSrun).value();
  EXPECT_EQ(launch.launcher, "srun");
  EXPECT_EQ(launch.rank, Rank(1));
  EXPECT_EQ(launch.size, 2);
  EXPECT_EQ(launch.host, "node07");
  EXPECT_EQ(read(with(kSrun, {{"SLURM_STEP_NUM_NODES", "1"}}))->host, "");
  EXPECT_EQ(read(without(kSrun, "SLURM_STEP_NUM_TASKS"))->size, 4);
}

TEST(LaunchEnvironment, OfABatchScriptOrAnAllocationIsNone) {
  // 2^32 - 5 and - 6: the batch script, and the shell of an allocation.
  for (const char* step : {"4294967291", "4294967290"}) {
    EXPECT_FALSE(read(with(kSrun, {{"SLURM_STEP_ID", step}})).has_value()) << step;
  }
  EXPECT_FALSE(read(without(kSrun, "SLURM_STEP_ID")).has_value());
  EXPECT_FALSE(read(without(kSrun, "SLURM_PROCID")).has_value());
}

TEST(LaunchEnvironment, OfTorchrunMeetsBesideItsStore) {
  const Launch launch = read(kTorchrun).value();
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.host, "node1");
  EXPECT_THAT(launch.ports, ElementsAre(29501, 29502, 29503, 29504, 29505, 29506, 29507, 29508));
  EXPECT_THAT(read(with(kTorchrun, {{"MASTER_PORT", "65533"}}))->ports, ElementsAre(65534, 65535));
}

TEST(LaunchEnvironment, WhatWasStartedLastWins) {
  const Variables all = with(with(kSrun, kMpirun), kTorchrun);
  EXPECT_EQ(read(with(all, kOwn))->launcher, "hoccl");
  EXPECT_EQ(read(all)->launcher, "torchrun");
  EXPECT_EQ(read(with(kSrun, kMpirun))->launcher, "mpirun");
}

TEST(LaunchEnvironment, ASingleRankNeedsNeitherSecretNorRendezvous) {
  EXPECT_EQ(read({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}})->size, 1);
  EXPECT_EQ(read({{"HOCCL_RANK", "0"}, {"HOCCL_SIZE", "1"}})->size, 1);
}

TEST(LaunchEnvironment, AMissingSecretIsExplained) {
  EXPECT_EQ(error_of(without(kMpirun, "HOCCL_JOB_SECRET")),
            "HOCCL_JOB_SECRET is not set: expected the same secret on every rank; before mpirun: "
            "export HOCCL_JOB_SECRET=$(openssl rand -hex 16) (over several hosts also: mpirun -x "
            "HOCCL_JOB_SECRET)");
  EXPECT_THAT(error_of(without(kSrun, "HOCCL_JOB_SECRET")), Not(HasSubstr("mpirun")));
}

TEST(LaunchEnvironment, AMalformedSecretIsNotRepeated) {
  EXPECT_THAT(error_of(with(kOwn, {{"HOCCL_JOB_SECRET", "hunter2"}})),
              AllOf(HasSubstr("HOCCL_JOB_SECRET: expected"), Not(HasSubstr("hunter2"))));
}

TEST(LaunchEnvironment, BadNumbersNameTheVariableAndTheRange) {
  EXPECT_EQ(error_of(with(kOwn, {{"HOCCL_RANK", "4"}})),
            "HOCCL_RANK=4: expected a whole number from 0 to 3");
  EXPECT_EQ(error_of(with(kOwn, {{"HOCCL_RANK", "-1"}})),
            "HOCCL_RANK=-1: expected a whole number from 0 to 3");
  EXPECT_EQ(error_of(with(kTorchrun, {{"RANK", "1x"}})),
            "RANK=1x: expected a whole number from 0 to 1");
  EXPECT_EQ(error_of(with(kMpirun, {{"OMPI_COMM_WORLD_SIZE", "0"}})),
            "OMPI_COMM_WORLD_SIZE=0: expected a whole number from 1 to 65536");
  EXPECT_EQ(error_of(with(kTorchrun, {{"MASTER_PORT", "70000"}})),
            "MASTER_PORT=70000: expected a port from 1 to 65535");
}

TEST(LaunchEnvironment, MissingVariablesAreNamedWithTheOneThatNeedsThem) {
  EXPECT_EQ(error_of(without(kOwn, "HOCCL_SIZE")),
            "HOCCL_SIZE is not set: expected beside HOCCL_RANK");
  EXPECT_EQ(error_of(without(kOwn, "HOCCL_RENDEZVOUS")),
            "HOCCL_RENDEZVOUS is not set: expected beside HOCCL_RANK");
  EXPECT_EQ(error_of(without(kTorchrun, "MASTER_PORT")),
            "MASTER_PORT is not set: expected beside MASTER_ADDR");
}

TEST(LaunchEnvironment, BadRendezvousAreRefused) {
  for (const char* bad :
       {"host", ":1", "host:", "host:0", "host:65536", "fe80::1:99", "[]:99", "host:12x"}) {
    EXPECT_THAT(error_of(with(kOwn, {{"HOCCL_RENDEZVOUS", bad}})),
                HasSubstr(std::string("HOCCL_RENDEZVOUS=") + bad + ": expected "));
  }
}

TEST(FirstHost, OfANodeList) {
  EXPECT_EQ(first_host("node1"), "node1");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[01-04,07],x3"), "node01");
  EXPECT_EQ(first_host("rack[2,5]gpu[03-09]"), "rack2gpu03");
  EXPECT_EQ(first_host("n[7]-ib,m"), "n7-ib");
}

}  // namespace
}  // namespace hoccl::hw
