#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/hw/job/leftovers.h"
#include "tests/hw/job/rank_host.h"
#include "tests/hw/job/rank_under_test.h"
#include "tests/hw/job/wire_format.h"

namespace hoccl::hw {

/// The ranks of one job, each on a thread or in a process of its own, that do what their test tells
/// them. When it ends, nothing may be left of them; otherwise the test fails.
class HwRanks {
 public:
  /// Forks processes: make it before this process has threads.
  HwRanks(JobSettings settings, Living living);
  ~HwRanks();
  HwRanks(const HwRanks&) = delete;
  HwRanks& operator=(const HwRanks&) = delete;

  [[nodiscard]] int count() const { return settings_.topology.rank_count(); }
  [[nodiscard]] const JobSettings& settings() const { return settings_; }
  [[nodiscard]] bool alive(engine::Rank rank) const { return hosts_.at(rank.index())->alive(); }
  [[nodiscard]] const TrapLine& trap_line() const { return trap_line_; }

  /// Runs `closure(RankUnderTest&)` or `closure(RankUnderTest&, std::string_view payload)` where
  /// the rank lives. It must be plain data, captured by value (a pointer only to what existed
  /// before the ranks did), and so must be its result, or a string, or nothing. Throws RankFailed.
  template <class Closure>
  auto call(engine::Rank rank, const Closure& closure, std::string_view payload = {}) {
    ask(rank, closure, payload);
    return decode<ResultOf<Closure>>(answer_texts({rank}).front());
  }
  /// The same on all living ranks at the same time; results by living rank.
  template <class Closure>
  auto call_all(const Closure& closure) {
    return collect<ResultOf<Closure>>(ask_all(closure));
  }
  /// The two halves of call_all(): lets all living ranks, which it returns, run the closure, ...
  template <class Closure>
  std::vector<engine::Rank> ask_all(const Closure& closure) {
    std::vector<engine::Rank> ranks = living();
    for (const engine::Rank rank : ranks) ask(rank, closure, {});
    return ranks;
  }
  /// ... and waits for some of them.
  template <class Result>
  auto collect(const std::vector<engine::Rank>& ranks) {
    const std::vector<std::string> texts = answer_texts(ranks);
    if constexpr (!std::is_void_v<Result>) {
      std::vector<Result> results;
      for (const std::string& text : texts) results.push_back(decode<Result>(text));
      return results;
    }
  }
  /// In ascending order.
  [[nodiscard]] std::vector<engine::Rank> living() const;

  void kill(engine::Rank rank) { hosts_.at(rank.index())->kill(); }
  /// Runs what somebody else will kill the rank for, perhaps before it can answer. Throws
  /// RankFailed.
  template <class Closure>
  void call_until_killed(engine::Rank rank, const Closure& closure, engine::Seconds timeout) {
    ask(rank, closure, {});
    hosts_.at(rank.index())->await_death(timeout);
  }

  engine::BufferHandle allocate(engine::Rank owner, engine::Bytes size);
  void fill(const engine::Region& region, std::uint64_t message);
  [[nodiscard]] bool holds(const engine::Region& region, std::uint64_t message);

  /// Waits until `all_calm` has held twice in a row, at most for the time; returns whether it has.
  static bool settle(const std::function<bool()>& all_calm, engine::Seconds timeout);

 private:
  using Thunk = std::string (*)(RankUnderTest&, std::string_view);
  template <class Closure>
  static auto invoke(const Closure& closure, RankUnderTest& rank, std::string_view payload) {
    if constexpr (std::is_invocable_v<const Closure&, RankUnderTest&>) {
      return closure(rank);
    } else {
      return closure(rank, payload);
    }
  }
  template <class Closure>
  using ResultOf = decltype(invoke(std::declval<const Closure&>(), std::declval<RankUnderTest&>(),
                                   std::string_view()));

  /// Runs where the rank lives.
  template <class Closure>
  static std::string run(RankUnderTest& rank, std::string_view request) {
    const Closure closure = take<Closure>(request);
    using Result = ResultOf<Closure>;
    if constexpr (std::is_void_v<Result>) {
      invoke(closure, rank, request);
      return {};
    } else if constexpr (std::is_same_v<Result, std::string>) {
      return invoke(closure, rank, request);
    } else {
      std::string result;
      append(result, invoke(closure, rank, request));
      return result;
    }
  }

  template <class Closure>
  void ask(engine::Rank rank, const Closure& closure, std::string_view payload) {
    std::string request;
    append(request, Thunk(&run<Closure>));
    append(request, closure);
    request.append(payload);
    hosts_.at(rank.index())->ask(request);
  }
  template <class Result>
  static Result decode(const std::string& text) {
    if constexpr (std::is_same_v<Result, std::string>) {
      return text;
    } else if constexpr (!std::is_void_v<Result>) {
      std::string_view rest = text;
      return take<Result>(rest);
    }
  }
  /// Of all that were asked, even if one of them throws.
  std::vector<std::string> answer_texts(const std::vector<engine::Rank>& ranks);
  void start_hosts(Living living);

  const JobSettings settings_;
  const TrapLine trap_line_;
  const Leftovers leftovers_;                     // what is above is ours
  std::vector<std::unique_ptr<RankHost>> hosts_;  // by rank
};

}  // namespace hoccl::hw
