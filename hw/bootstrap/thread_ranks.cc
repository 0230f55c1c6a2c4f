#include "hw/bootstrap/thread_ranks.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>

#include "hw/bootstrap/sockets.h"

namespace hoccl::hw {

std::vector<Launch> make_local_launches(int ranks) {
  LoopbackListener listener = listen_on_loopback();
  const JobSecret secret = JobSecret::generate();
  std::vector<Launch> launches(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    Launch& launch = launches[static_cast<std::size_t>(rank)];
    launch.launcher = "hoccl";
    launch.rank = engine::Rank(rank);
    launch.size = ranks;
    launch.ports = {listener.port};
    launch.secret = secret;
  }
  // Rank 0 already listens, so there is no race for the port.
  launches.front().listening_socket = listener.socket.release();
  return launches;
}

int run_thread_ranks(int ranks, const std::function<int(const Launch&)>& rank) {
  constexpr std::chrono::seconds kEndTime(10);
  const std::vector<Launch> launches = make_local_launches(ranks);
  std::mutex mutex;
  std::condition_variable changed;
  int running = ranks;
  int exit_code = 0;
  const auto run = [&](const Launch& launch) {
    const int code = rank(launch);
    const std::scoped_lock lock(mutex);
    running -= 1;
    if (exit_code == 0) exit_code = code;
    changed.notify_all();
  };
  std::vector<std::thread> threads;
  for (const Launch& launch : launches) threads.emplace_back(run, std::cref(launch));
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running == 0 || exit_code != 0; });
    if (!changed.wait_for(lock, kEndTime, [&] { return running == 0; })) {
      fmt::print(stderr, "hoccl: {} ranks did not end within {} s\n", running, kEndTime.count());
      std::fflush(stdout);
      std::_Exit(exit_code);  // nobody can end their threads otherwise
    }
  }
  for (std::thread& thread : threads) thread.join();
  return exit_code;
}

}  // namespace hoccl::hw
