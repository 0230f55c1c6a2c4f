// One rank of a real job, for tests of the launcher and of the bootstrap between processes:
//
//   launch_probe RANKS SCENARIO
//
// started alone it starts the ranks. Each rank prints one line; exit code 0 when all is well.

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/bootstrap_error.h"
#include "hw/bootstrap/launcher.h"
#include "hw/node/local_mesh.h"
#include "hw/node/mesh_rendezvous.h"
#include "tests/hw/bootstrap/mesh_log.h"

namespace hoccl::hw::test {
namespace {

/// The rank that does something else than the others.
constexpr engine::Rank kSpecial(2);
/// Of a child that a failed test does not end.
constexpr unsigned kChildLifeSeconds = 60;

void say(const Bootstrap& bootstrap, const std::string& what) {
  fmt::print("rank {}: {}\n", bootstrap.rank(), what);
  std::fflush(stdout);
}

/// Until somebody ends this process.
[[noreturn]] void wait_forever() {
  while (true) ::pause();
}

int gather(Bootstrap& bootstrap) {
  const auto blobs = bootstrap.all_gather(std::to_string(bootstrap.rank().value()));
  say(bootstrap, fmt::format("{}", fmt::join(blobs, " ")));
  return 0;
}

int exit_with_7(Bootstrap& bootstrap) {
  bootstrap.barrier();
  return bootstrap.rank() == kSpecial ? 7 : 0;
}

int die_before_a_barrier(Bootstrap& bootstrap) {
  if (bootstrap.rank() == kSpecial) ::raise(SIGKILL);
  bootstrap.barrier();
  return 0;
}

/// The others have to be ended by the launcher.
int fail_while_others_wait(Bootstrap& bootstrap) {
  bootstrap.barrier();
  if (bootstrap.rank() == kSpecial) return 3;
  wait_forever();
}

int wait_for_a_signal(Bootstrap& bootstrap) {
  bootstrap.barrier();
  say(bootstrap, fmt::format("process {}", ::getpid()));
  wait_forever();
}

/// All others must hear of the death over the mesh, not only of the end of a connection.
int die_in_a_mesh(Bootstrap& bootstrap) {
  MeshLog log;
  LocalMesh mesh(bootstrap);
  log.start(mesh);
  bootstrap.barrier();
  if (bootstrap.rank() == kSpecial) ::raise(SIGKILL);
  const bool died = log.await_end(kSpecial) == MeshLog::End::kDied;
  say(bootstrap, fmt::format("rank {} {}", kSpecial, died ? "died" : "is there"));
  return died ? 0 : 1;
}

/// The child keeps all sockets of the rank open; it lives until somebody ends it.
int die_and_leave_a_child(Bootstrap& bootstrap) {
  MeshLog log;
  LocalMesh mesh(bootstrap);
  log.start(mesh);
  bootstrap.barrier();
  if (bootstrap.rank() == kSpecial) {
    const std::string text = "last";
    mesh.send(engine::Rank(0), std::as_bytes(std::span(text)));
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kChildLifeSeconds);
      wait_forever();
    }
    say(bootstrap, fmt::format("child {}", child));
    ::raise(SIGKILL);
  }
  const bool died = log.await_end(kSpecial) == MeshLog::End::kDied;
  const std::size_t heard =
      log.await_packets(kSpecial, bootstrap.rank().value() == 0 ? 1 : 0).size();
  say(bootstrap,
      fmt::format("rank {} {}, {} packets", kSpecial, died ? "died" : "is there", heard));
  return died ? 0 : 1;
}

int kill_a_peer(Bootstrap& bootstrap) {
  MeshLog log;
  LocalMesh mesh(bootstrap);
  log.start(mesh);
  bootstrap.barrier();
  if (bootstrap.rank() == kSpecial) wait_forever();
  if (bootstrap.rank() == engine::Rank(0) && !mesh.kill_peer(kSpecial)) return 1;
  const bool died = log.await_end(kSpecial) == MeshLog::End::kDied;
  say(bootstrap, fmt::format("rank {} {}", kSpecial, died ? "died" : "is there"));
  return died ? 0 : 1;
}

/// It must not live on when the others take it for lost.
int send_too_long_a_packet(Bootstrap& bootstrap) {
  if (bootstrap.rank() == kSpecial) {
    const std::vector<MeshLink> links = connect_local_ranks(bootstrap);
    const std::string text(2 * LocalMesh::kMaxPayload, 'x');
    ::send(links[0].socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
    wait_forever();
  }
  MeshLog log;
  LocalMesh mesh(bootstrap);
  log.start(mesh);
  const bool died = log.await_end(kSpecial) == MeshLog::End::kDied;
  say(bootstrap, fmt::format("rank {} {}", kSpecial, died ? "died" : "is there"));
  return died ? 0 : 1;
}

/// One byte of its input at a time opens the next door to rank 3, so a test has time to attack.
int come_late(Bootstrap& bootstrap) {
  const bool late = bootstrap.rank() == engine::Rank(3);
  if (late) std::getchar();
  MeshLog log;
  LocalMesh mesh(bootstrap);
  log.start(mesh);
  const std::string text = "hello";
  for (int peer = 0; peer < bootstrap.size(); ++peer) {
    if (peer != bootstrap.rank().value()) {
      mesh.send(engine::Rank(peer), std::as_bytes(std::span(text)));
    }
  }
  int heard = 0;
  for (int peer = 0; peer < bootstrap.size(); ++peer) {
    if (peer == bootstrap.rank().value()) continue;
    heard += static_cast<int>(log.await_packets(engine::Rank(peer), 1).size());
  }
  bootstrap.barrier();
  say(bootstrap, fmt::format("heard {} of {}", heard, bootstrap.size() - 1));
  return heard == bootstrap.size() - 1 ? 0 : 1;
}

int run(int ranks, const std::string& scenario) {
  const auto launch = read_launch_environment();
  if (!launch)
    return launch_local_ranks(ranks, {std::to_string(ranks), scenario}, engine::Seconds(1.0));
  if (scenario == "come-late" && launch->rank == engine::Rank(3)) std::getchar();
  const auto bootstrap = Bootstrap::connect(*launch, {.timeout = engine::Seconds(30.0)});
  const std::map<std::string, int (*)(Bootstrap&)> scenarios = {
      {"gather", gather},
      {"exit-with-7", exit_with_7},
      {"die-before-a-barrier", die_before_a_barrier},
      {"fail-while-others-wait", fail_while_others_wait},
      {"wait-for-a-signal", wait_for_a_signal},
      {"die-in-a-mesh", die_in_a_mesh},
      {"die-and-leave-a-child", die_and_leave_a_child},
      {"kill-a-peer", kill_a_peer},
      {"send-too-long-a-packet", send_too_long_a_packet},
      {"come-late", come_late},
  };
  return scenarios.at(scenario)(*bootstrap);
}

}  // namespace
}  // namespace hoccl::hw::test

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    return hoccl::hw::test::run(std::atoi(argv[1]), argv[2]);
  } catch (const hoccl::engine::ConfigError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 2;
  } catch (const hoccl::hw::BootstrapError& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 4;
  }
}
