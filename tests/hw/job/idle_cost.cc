#include "tests/hw/job/idle_cost.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/hw/job/hw_job.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Rank;
using engine::Region;
using engine::Seconds;
using engine::SendRecvRequest;
using engine::StreamId;

namespace {

/// Of all threads of each rank's process.
std::vector<double> cpu_seconds(HwRanks& ranks) {
  return ranks.call_all([](RankUnderTest&) {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  });
}

}  // namespace

double idle_cost(int ranks, Seconds time) {
  engine::FabricSettings fabric;
  fabric.ranks = ranks;
  HwJob job(job_settings(fabric, LinkKind::kLoopback), Living::kProcess);
  const Bytes size(1 << 20);
  for (int i = 0; i < ranks; ++i) {
    const Region buffer{job.allocate(Rank(i), size), Bytes(0), size};
    const Rank silent((i + 1) % ranks);
    job.enqueue(Rank(i), 0, {{SendRecvRequest::Side::kReceive, silent, buffer}}, StreamId(0));
  }
  const std::vector<double> before = cpu_seconds(job.ranks());
  std::this_thread::sleep_for(time);
  const std::vector<double> after = cpu_seconds(job.ranks());
  for (int i = 0; i < ranks; ++i) job.abort(Rank(i), 0);
  job.run();
  double most = 0;
  for (std::size_t i = 0; i < before.size(); ++i) most = std::max(most, after[i] - before[i]);
  return most / time.count();
}

}  // namespace hoccl::hw
