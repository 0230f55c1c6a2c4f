#include "tests/hw/scenarios/random_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "engine/base/random.h"
#include "engine/schedule/compile.h"
#include "tests/support/multicast_plan.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::BytesPerSecond;
using engine::FuzzMessage;
using engine::Random;
using engine::Rank;
using engine::Seconds;
using engine::StreamId;
using engine::Topology;

namespace {

// Bounds that keep a seed at a fraction of a second.
constexpr Bytes kMaxSize(std::int64_t{16} << 20);
constexpr Bytes kMaxTotal(std::int64_t{24} << 20);
constexpr std::int64_t kMaxChunks = 2000;
constexpr int kMaxRanks = 8;
constexpr int kMaxStreams = 4;
constexpr int kMaxRounds = 4;

int draw(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

/// Small values as likely as large ones.
std::int64_t draw_magnitude(Random& random, std::int64_t low, std::int64_t high) {
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  return std::min(high, static_cast<std::int64_t>(static_cast<double>(low) *
                                                  std::pow(ratio, random.uniform())));
}

Topology draw_topology(Random& random) {
  if (random.chance(0.1)) {
    return engine::resolve_topology("h200-1x1").with_ranks(draw(random, 2, 4));
  }
  const int nodes = draw(random, 1, 3);
  const int gpus = draw(random, 2, 4);
  const Topology full = engine::resolve_topology(fmt::format("h800-{}x{}", nodes, gpus));
  const int most = std::min(kMaxRanks, nodes * gpus);
  return random.chance(0.5) && most == nodes * gpus
             ? full
             : full.with_ranks(draw(random, std::max(2, nodes), most));
}

void draw_options(Random& random, JobSettings& settings) {
  const Bytes chunk(draw_magnitude(random, 64, 1 << 20));
  settings.compile.chunk_size = chunk;
  const int nics = settings.topology.nic_count() / settings.topology.node_count();
  // A GPU's own NIC cannot carry its messages, except from host memory. Few rails leave ranks that
  // do not relay, for multicasts.
  const bool one_rail = settings.topology.shared_device() || random.chance(0.5);
  settings.compile.rails = one_rail ? 1 : draw(random, 1, std::max(1, nics - 1));
  HwOptions& options = settings.options;
  options.slots = draw(random, 1, 8);
  options.slot_size = chunk + Bytes(random.chance(0.5) ? 0 : random.between(1, 100));
  options.copy_threads = draw(random, 1, 2);
  const bool map = settings.topology.wire() == engine::WireKind::kMap || random.chance(0.3);
  options.link = map ? LinkKind::kLoopbackMap : LinkKind::kLoopback;
  if (!map && random.chance(0.5)) options.link_delay = Seconds(2e-4 * random.uniform());
  if (!map && random.chance(0.3)) options.link_rate = BytesPerSecond(5e8 + 5e9 * random.uniform());
  engine::PipelineOptions& pipeline = settings.pipeline;
  pipeline.streams = draw(random, 1, 4);
  pipeline.quantum = draw(random, 1, 8);
  pipeline.queue_pairs = draw(random, 1, 4);
  pipeline.queue_depth = draw(random, 1, 4);
  pipeline.nic_depth = draw(random, 1, 8);
  pipeline.batch = draw(random, 0, 4);
  // Longer than a test waits: nothing may need it.
  pipeline.timeout = Seconds(120.0);
}

Bytes draw_size(Random& random, Bytes chunk) {
  const double kind = random.uniform();
  if (kind < 0.05) return Bytes(0);
  if (kind < 0.15) return Bytes(random.between(1, 16));
  if (kind < 0.3) return chunk * random.between(1, 8);
  return Bytes(draw_magnitude(random, 1, std::min(kMaxSize.count(), chunk.count() * 300)));
}

using Ends = std::pair<Rank, Rank>;

/// Sources and targets of messages that could have further targets, whatever their size.
std::vector<Ends> multicast_ends(const JobSettings& settings) {
  std::vector<Ends> result;
  const int ranks = settings.topology.rank_count();
  for (int i = 0; i < ranks * ranks; ++i) {
    const Ends ends(i / ranks, i % ranks);
    const std::vector<Rank> further = engine::possible_further_targets(
        settings.topology, ends.first, ends.second, kMaxSize, settings.compile);
    if (!further.empty()) result.push_back(ends);
  }
  return result;
}

RandomPattern draw_pattern(Random& random, const JobSettings& settings) {
  if (random.chance(0.8) && !multicast_ends(settings).empty()) return RandomPattern::kMulticasts;
  return static_cast<RandomPattern>(draw(random, 0, static_cast<int>(RandomPattern::kChain)));
}

Ends draw_pair(Random& random, int ranks) {
  const int source = draw(random, 0, ranks - 1);
  return {Rank(source), Rank((source + draw(random, 1, ranks - 1)) % ranks)};
}

FuzzMessage draw_message(Random& random, int streams, const Ends& ends) {
  FuzzMessage message;
  message.source = ends.first;
  message.target = ends.second;
  message.source_stream = StreamId(draw(random, 0, streams - 1));
  message.target_stream = StreamId(draw(random, 0, streams - 1));
  message.joins_at_source = random.chance(0.2);
  message.joins_at_target = random.chance(0.2);
  return message;
}

std::vector<Rank> draw_further_targets(Random& random, const FuzzMessage& message,
                                       const JobSettings& settings) {
  if (message.size == Bytes(0)) return {};
  std::vector<Rank> targets = engine::possible_further_targets(
      settings.topology, message.source, message.target, message.size, settings.compile);
  std::erase_if(targets, [&](Rank) { return random.chance(0.3); });
  return targets;
}

void draw_messages(Random& random, RandomJob& job, int streams) {
  const int ranks = job.settings.topology.rank_count();
  const Bytes chunk = job.settings.compile.chunk_size;
  Bytes total;
  std::int64_t chunks = 0;
  std::vector<Ends> multicasts;
  if (job.pattern == RandomPattern::kMulticasts) multicasts = multicast_ends(job.settings);
  for (int left = draw(random, 1, 24); left > 0; --left) {
    const bool is_multicast = !multicasts.empty() && random.chance(0.5);
    const Ends ends =
        is_multicast
            ? multicasts[static_cast<std::size_t>(random.between(0, std::ssize(multicasts) - 1))]
            : draw_pair(random, ranks);
    FuzzMessage message = draw_message(random, streams, ends);
    message.size = draw_size(random, chunk);
    if (is_multicast) message.more_targets = draw_further_targets(random, message, job.settings);
    total += message.size;
    chunks += chunk_count(message.size, chunk);
    if (total > kMaxTotal || chunks > kMaxChunks) return;
    job.messages.push_back(message);
  }
}

/// A ring or a chain of messages of one size.
void draw_rounds(Random& random, RandomJob& job, int streams) {
  const int ranks = job.settings.topology.rank_count();
  const int senders = job.pattern == RandomPattern::kRing ? ranks : ranks - 1;
  const int rounds = draw(random, 1, kMaxRounds);
  const int count = senders * rounds;
  const Bytes chunk = job.settings.compile.chunk_size;
  const Bytes size =
      std::min({draw_size(random, chunk), kMaxTotal / count, chunk * (kMaxChunks / count)});
  for (int i = 0; i < count; ++i) {
    const int source = i % senders;
    FuzzMessage message = draw_message(random, streams, {Rank(source), Rank((source + 1) % ranks)});
    message.size = size;
    job.messages.push_back(message);
  }
}

void draw_death(Random& random, RandomJob& job) {
  RandomDeath death;
  death.victim = Rank(random.between(0, job.settings.topology.rank_count() - 1));
  if (random.chance(0.4)) {
    death.after = Seconds(30e-3 * random.uniform());
  } else {
    SeamTrap trap;
    trap.rank = death.victim;
    trap.event = static_cast<SeamEvent>(draw(random, 0, static_cast<int>(kLastSeamEvent)));
    trap.count = static_cast<int>(draw_magnitude(random, 1, 30));
    trap.action = TrapAction::kDie;
    job.settings.trap = trap;
  }
  job.death = death;
}

std::string describe_death(const RandomJob& job) {
  if (!job.death) return "nobody dies";
  if (job.death->after) {
    return fmt::format("rank {} dies after {} s", job.death->victim, job.death->after->count());
  }
  return fmt::format("rank {} dies at its {}th {}", job.death->victim, job.settings.trap->count,
                     to_string(job.settings.trap->event));
}

}  // namespace

std::string_view to_string(RandomPattern pattern) {
  switch (pattern) {
    case RandomPattern::kMessages:
      return "messages";
    case RandomPattern::kRing:
      return "ring";
    case RandomPattern::kChain:
      return "chain";
    case RandomPattern::kMulticasts:
      return "multicasts";
  }
  std::abort();  // all patterns are above
}

RandomJob draw_job(std::uint64_t seed, bool may_die) {
  Random random(seed);
  const Topology topology = draw_topology(random);
  RandomJob job{seed, {topology, {}, {}, {}, true, {}}, {}, {}, {}};
  draw_options(random, job.settings);
  job.pattern = draw_pattern(random, job.settings);
  const int streams = draw(random, 1, kMaxStreams);
  if (job.pattern == RandomPattern::kRing || job.pattern == RandomPattern::kChain) {
    draw_rounds(random, job, streams);
  } else {
    draw_messages(random, job, streams);
  }
  if (may_die && random.chance(0.5)) draw_death(random, job);
  return job;
}

std::string describe(const RandomJob& job) {
  const HwOptions& options = job.settings.options;
  const engine::PipelineOptions& pipeline = job.settings.pipeline;
  Bytes total;
  for (const FuzzMessage& message : job.messages) total += message.size;
  return fmt::format(
      "{} with {} ranks, {}: {} messages of {} in all, chunk {}, {} rails, {} slots, link {}, "
      "delay {}, rate {}, {} copy threads, {} lanes, quantum {}, {} queue pairs of depth {}, {} "
      "writes per NIC, batch {}; {}",
      job.settings.topology.name(), job.settings.topology.rank_count(), to_string(job.pattern),
      job.messages.size(), to_string(total), to_string(job.settings.compile.chunk_size),
      job.settings.compile.rails, options.slots, to_string(options.link),
      engine::to_string(options.link_delay),
      options.link_rate ? to_string(*options.link_rate) : "unlimited", options.copy_threads,
      pipeline.streams, pipeline.quantum, pipeline.queue_pairs, pipeline.queue_depth,
      pipeline.nic_depth, pipeline.batch, describe_death(job));
}

engine::Plan plan_of(const RandomJob& job, const FuzzMessage& message) {
  std::vector<Rank> targets = {message.target};
  targets.insert(targets.end(), message.more_targets.begin(), message.more_targets.end());
  return engine::multicast_plan(job.settings.topology, message.source, std::move(targets),
                                message.size, job.settings.compile);
}

bool receives(const FuzzMessage& message, Rank rank) {
  return message.target == rank ||
         std::ranges::find(message.more_targets, rank) != message.more_targets.end();
}

bool needs(const RandomJob& job, const FuzzMessage& message, Rank rank) {
  if (message.source == rank || receives(message, rank)) return true;
  const Topology& topology = job.settings.topology;
  const engine::Plan plan = plan_of(job, message);
  return std::ranges::any_of(plan.transfers, [&](const engine::Transfer& transfer) {
    return transfer.route == engine::Route::kStaged &&
           (topology.host_of(topology.place_of(transfer.send_nic)) == rank ||
            topology.host_of(topology.place_of(transfer.receive_nic)) == rank);
  });
}

}  // namespace hoccl::hw
