#include "tests/fuzz/schedule_concurrent.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/config_error.h"
#include "engine/base/random.h"
#include "engine/pattern/group.h"
#include "tests/fuzz/refusals.h"
#include "tests/fuzz/schedule_case.h"
#include "tests/fuzz/schedule_topology.h"
#include "tests/support/pattern_run.h"

namespace hoccl::engine {
namespace {

constexpr int kMostSlots = 3;
constexpr int kMostStreams = 3;
constexpr int kMostOperations = 5;
/// To find something that a topology can carry out.
constexpr int kTries = 10;

int draw(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

std::vector<Rank> draw_members(Random& random, int rank_count) {
  const bool all = random.chance(0.5);
  std::vector<Rank> members;
  for (int rank = 0; rank < rank_count; ++rank) {
    if (all || random.chance(0.6)) members.emplace_back(rank);
  }
  if (members.empty()) members.emplace_back(draw(random, 0, rank_count - 1));
  return members;
}

/// False when the topology can carry out nothing that comes to mind for these members.
bool draw_operation(Random& random, Bytes chunk, const Topology& topology,
                    ConcurrentCase::Operation& operation) {
  const int ranks = topology.rank_count();
  for (int i = 0; i < kTries; ++i) {
    const auto members = static_cast<int>(operation.members.size());
    operation.pattern =
        on_group(draw_pattern(random, members, chunk).pattern, operation.members, ranks);
    try {
      operation.plan = std::make_shared<const Plan>(
          compile(operation.pattern, topology, draw_compile_options(random, chunk, topology)));
      return true;
    } catch (const ConfigError&) {
    }
  }
  return false;
}

/// Any order that keeps those of a communicator and those of a stream in theirs.
std::vector<ConcurrentCase::Call> draw_calls(Random& random, Rank rank, int streams,
                                             const std::vector<ConcurrentCase::Operation>& all) {
  std::vector<ConcurrentCase::Call> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!std::ranges::binary_search(all[i].members, rank)) continue;
    left.push_back({i, StreamId(draw(random, 0, streams - 1)),
                    Seconds(random.chance(0.3) ? 1e-3 * random.uniform() : 0.0)});
  }
  std::vector<ConcurrentCase::Call> calls;
  while (!left.empty()) {
    std::vector<std::size_t> next;  // that nothing has to come before
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto end = left.begin() + static_cast<std::ptrdiff_t>(i);
      const bool free = std::none_of(left.begin(), end, [&](const ConcurrentCase::Call& before) {
        return before.stream == left[i].stream ||
               all[before.operation].communicator == all[left[i].operation].communicator;
      });
      if (free) next.push_back(i);
    }
    const auto pick = next[static_cast<std::size_t>(random.between(0, std::ssize(next) - 1))];
    calls.push_back(left[pick]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(pick));
  }
  return calls;
}

bool draw_operations(Random& random, Bytes chunk, ConcurrentCase& result) {
  const int ranks = result.topology.rank_count();
  std::vector<std::vector<Rank>> members(static_cast<std::size_t>(draw(random, 2, 3)));
  for (std::vector<Rank>& group : members) group = draw_members(random, ranks);
  const auto count =
      static_cast<std::size_t>(draw(random, static_cast<int>(members.size()), kMostOperations));
  for (std::size_t i = 0; i < count; ++i) {
    // Each of them has one at least.
    const std::size_t communicator =
        i < members.size() ? i
                           : static_cast<std::size_t>(random.between(0, std::ssize(members) - 1));
    ConcurrentCase::Operation& operation = result.operations.emplace_back();
    operation.communicator = static_cast<std::uint16_t>(communicator);
    operation.members = members[communicator];
    if (!draw_operation(random, chunk, result.topology, operation)) return false;
  }
  return true;
}

}  // namespace

ConcurrentCase draw_concurrent_case(std::uint64_t seed) {
  Random random(seed);
  while (true) {
    ConcurrentCase result{draw_small_cluster(random)};
    const int ranks = result.topology.rank_count();
    const Bytes chunk = draw_chunk(random);
    if (ranks < 2 || !draw_operations(random, chunk, result)) continue;
    result.pipeline = draw_pipeline_options(random);
    result.fabric = draw_fabric_options(random, chunk);
    result.fabric.queue_depth = result.pipeline.queue_depth;
    result.fabric.send_slots = draw(random, 1, kMostSlots);
    result.fabric.receive_slots = draw(random, 1, kMostSlots);
    const int streams = draw(random, 1, kMostStreams);
    for (int rank = 0; rank < ranks; ++rank) {
      result.calls.push_back(draw_calls(random, Rank(rank), streams, result.operations));
    }
    draw_refusals(seed, result.topology, result.fabric.faults);
    return result;
  }
}

std::string check_run(const ConcurrentCase& concurrent_case) {
  PatternRun run(concurrent_case.topology, concurrent_case.fabric, concurrent_case.pipeline);
  for (const ConcurrentCase::Operation& operation : concurrent_case.operations) {
    run.add(operation.pattern, {operation.plan}, operation.communicator, operation.members);
  }
  for (std::size_t i = 0; i < concurrent_case.calls.size(); ++i) {
    const Rank rank(i);
    for (const ConcurrentCase::Call& call : concurrent_case.calls[i]) {
      run.fabric().enqueue_delay(rank, call.stream, call.delay_before);
      run.enqueue(call.operation, rank, call.stream);
    }
  }
  run.run();
  return run.wrong();
}

std::string describe(const ConcurrentCase& concurrent_case) {
  const Topology& topology = concurrent_case.topology;
  std::string text = fmt::format(
      "{} nodes, {} GPUs, {} NICs, {} ranks, staged in {}, {}+{} slots{}{}{}{}{}",
      topology.node_count(), topology.gpu_count(), topology.nic_count(), topology.rank_count(),
      to_string(topology.staging()), concurrent_case.fabric.send_slots,
      concurrent_case.fabric.receive_slots, concurrent_case.pipeline.barrier ? ", barrier" : "",
      concurrent_case.pipeline.overlap ? "" : ", no overlap",
      concurrent_case.pipeline.interleave ? "" : ", one after the other",
      concurrent_case.pipeline.slack_fill ? "" : ", no slack fill",
      refuses(concurrent_case.fabric.faults) ? ", buffers refused" : "");
  for (const ConcurrentCase::Operation& operation : concurrent_case.operations) {
    fmt::format_to(
        std::back_inserter(text), "; communicator {} of ranks {}: {} of {} in {} transfers",
        operation.communicator, fmt::join(operation.members, ","), operation.pattern.name,
        to_string(operation.pattern.message_size), operation.plan->transfers.size());
  }
  return text;
}

}  // namespace hoccl::engine
