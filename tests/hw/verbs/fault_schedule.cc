#include "tests/hw/verbs/fault_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "engine/base/random.h"
#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Random;
using engine::Rank;
using engine::Seconds;

namespace {

/// Of all messages of a schedule.
constexpr Bytes kMaxTotal(std::int64_t{16} << 20);
constexpr Bytes kMaxMessage(std::int64_t{1} << 20);
/// What an emulated CPU may need for it, with every path lost in turn.
constexpr Seconds kPatience(60.0);
/// Losses above this can look like an outage.
constexpr double kHarmlessPercent = 3.0;

int draw(Random& random, int low, int high) { return static_cast<int>(random.between(low, high)); }

Bytes draw_size(Random& random, Bytes low, Bytes high) {
  const double ratio = static_cast<double>(high.count()) / static_cast<double>(low.count());
  return Bytes(static_cast<std::int64_t>(static_cast<double>(low.count()) *
                                         std::pow(ratio, random.uniform())));
}

std::vector<std::string> interfaces_of(Rails rails) {
  if (rails == Rails::kOne) return {"v0", "v1"};
  return {"v0", "v1", "v2", "v3"};
}

Fault draw_loss(Random& random, const FaultSchedule& schedule) {
  const std::vector<std::string> interfaces = interfaces_of(schedule.rails);
  Fault fault;
  fault.kind = Fault::Kind::kLoss;
  fault.interface =
      interfaces[static_cast<std::size_t>(random.between(0, std::ssize(interfaces) - 1))];
  fault.percent = random.chance(0.4)   ? 100.0
                  : random.chance(0.5) ? 2.0
                                       : 5.0 + 60.0 * random.uniform();
  fault.lasts = Seconds(0.05 + 1.2 * random.uniform());
  return fault;
}

Fault draw_fault(Random& random, const FaultSchedule& schedule) {
  Fault fault;
  if (random.chance(0.5)) {
    fault = draw_loss(random, schedule);
  } else {
    fault.kind = Fault::Kind::kQueuePair;
    fault.rank = Rank(draw(random, 0, schedule.ranks - 1));
    fault.index = static_cast<std::uint64_t>(draw(random, 0, 30));
  }
  fault.at = Seconds(0.4 * random.uniform());
  return fault;
}

std::string describe(const Fault& fault) {
  const std::string at = fmt::format("at {:.2f} s", fault.at.count());
  switch (fault.kind) {
    case Fault::Kind::kLoss:
      return fmt::format("{} {} loses {:.0f}% for {:.2f} s", at, fault.interface, fault.percent,
                         fault.lasts.count());
    case Fault::Kind::kQueuePair:
      return fmt::format("{} queue pair {} of rank {} breaks", at, fault.index, fault.rank);
    case Fault::Kind::kDeath:
      return fmt::format("{} rank {} dies", at, fault.rank);
  }
  return "?";
}

/// Makes the faults happen, each at its time, and losses end.
class Saboteur {
 public:
  Saboteur(const FaultSchedule& schedule, FaultJob& job)
      : schedule_(schedule), job_(job), begin_(monotonic_now()) {}

  void run() {
    for (const Fault& fault : schedule_.faults) {
      wait_until(fault.at);
      begin(fault);
    }
    while (!losses_.empty()) {
      wait_until(std::ranges::min_element(losses_, {}, [](const auto& entry) {
                   return entry.second.first;
                 })->second.first);
    }
  }

 private:
  void begin(const Fault& fault) {
    switch (fault.kind) {
      case Fault::Kind::kLoss:
        losses_[fault.interface] = {fault.at + fault.lasts,
                                    std::make_unique<PacketLoss>(fault.interface, fault.percent)};
        return;
      case Fault::Kind::kQueuePair:
        if (job_.job().ranks().alive(fault.rank)) job_.break_queue_pair(fault.rank, fault.index);
        return;
      case Fault::Kind::kDeath:
        job_.kill(fault.rank);
        return;
    }
  }

  void wait_until(Seconds time) {
    while (true) {
      std::erase_if(losses_, [&](const auto& entry) { return entry.second.first <= now(); });
      if (now() >= time) return;
      std::this_thread::sleep_for(std::min(time - now(), Seconds(0.02)));
    }
  }
  [[nodiscard]] Seconds now() const { return monotonic_now() - begin_; }

  const FaultSchedule& schedule_;
  FaultJob& job_;
  const Seconds begin_;
  std::map<std::string, std::pair<Seconds, std::unique_ptr<PacketLoss>>> losses_;  ///< until when
};

}  // namespace

FaultSchedule draw_schedule(std::uint64_t seed) {
  Random random(seed);
  FaultSchedule schedule;
  schedule.seed = seed;
  schedule.ranks = draw(random, 2, 4);
  schedule.rails = random.chance(0.5) ? Rails::kTwo : Rails::kOne;
  schedule.chunk = draw_size(random, Bytes(4 << 10), Bytes(256 << 10));
  const std::int64_t pairs = schedule.ranks == 2 ? 2 : schedule.ranks == 3 ? 4 : 8;
  Bytes total;
  for (int left = draw(random, 1, 4); left > 0; --left) {
    const Bytes size = draw_size(random, Bytes(1), kMaxMessage);
    if (total + size * pairs > kMaxTotal) break;
    total += size * pairs;
    schedule.messages.push_back(size);
  }
  std::set<std::string> lossy;
  for (int left = draw(random, 1, 5); left > 0; --left) {
    const Fault fault = draw_fault(random, schedule);
    if (fault.kind == Fault::Kind::kLoss && !lossy.insert(fault.interface).second) continue;
    schedule.faults.push_back(fault);
  }
  if (random.chance(0.15)) {
    Fault death;
    death.kind = Fault::Kind::kDeath;
    death.at = Seconds(0.4 * random.uniform());
    death.rank = Rank(draw(random, 0, schedule.ranks - 1));
    schedule.faults.push_back(death);
  }
  std::ranges::stable_sort(schedule.faults, {}, &Fault::at);
  return schedule;
}

std::string describe(const FaultSchedule& schedule) {
  std::vector<std::string> faults;
  for (const Fault& fault : schedule.faults) faults.push_back(describe(fault));
  std::vector<std::int64_t> sizes;
  for (const Bytes size : schedule.messages) sizes.push_back(size.count());
  return fmt::format("seed {}: {} ranks, {} rails, chunk {} B, messages of {} B; {}", schedule.seed,
                     schedule.ranks, schedule.rails == Rails::kOne ? 1 : 2, schedule.chunk.count(),
                     fmt::join(sizes, ", "), fmt::join(faults, "; "));
}

bool leaves_a_path(const FaultSchedule& schedule) {
  std::set<bool> bad_rails;  // the second one?
  for (const Fault& fault : schedule.faults) {
    if (fault.kind == Fault::Kind::kDeath) return false;
    if (fault.kind != Fault::Kind::kLoss || fault.percent <= kHarmlessPercent) continue;
    bad_rails.insert(fault.interface == "v2" || fault.interface == "v3");
  }
  return bad_rails.empty() || (schedule.rails == Rails::kTwo && bad_rails.size() == 1);
}

std::string play(const FaultSchedule& schedule) {
  FaultJob job(schedule.ranks, schedule.rails, schedule.chunk);
  job.enqueue(schedule.chunk);  // connects
  FaultJob::Verdict verdict = job.judge(kPatience);
  if (!verdict.wrong.empty() || verdict.failed > 0) return "before any fault: " + verdict.wrong;
  for (const Bytes size : schedule.messages) job.enqueue(size);
  Saboteur(schedule, job).run();
  verdict = job.judge(kPatience);
  if (!verdict.wrong.empty()) return verdict.wrong;
  if (leaves_a_path(schedule) && verdict.failed > 0) {
    return fmt::format("{} messages failed although a path was left", verdict.failed);
  }
  const bool somebody_died =
      job.job().ranks().living().size() < static_cast<std::size_t>(job.ranks());
  for (int tries = 0; tries < 30 && !somebody_died; ++tries) {
    job.enqueue(schedule.chunk);
    verdict = job.judge(kPatience);
    if (!verdict.wrong.empty()) return "after all faults: " + verdict.wrong;
    if (verdict.failed == 0) return {};
    std::this_thread::sleep_for(Seconds(0.2));
  }
  return somebody_died ? "" : "messages still fail after all faults";
}

}  // namespace hoccl::hw
