#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/link/link_context.h"
#include "hw/link/outlet.h"
#include "hw/link/path_book.h"
#include "hw/trace/leg_trace.h"
#include "hw/verbs/completion_words.h"
#include "hw/verbs/verbs_error.h"

namespace hoccl::hw {

/// The sending ends of all conduits from this rank: connects them when they are first used, moves
/// what has not come to another path when one fails, and returns when it works again. See
/// control_frame.h for who says what when.
class Outlets {
 public:
  /// Where a write's payload is and goes, over a path to a peer. Nothing: a buffer has gone, or the
  /// peer has not told the truth about it.
  using Locate = std::function<std::optional<PayloadAddresses>(const engine::WriteRequest&,
                                                               engine::Rank, const Path&)>;

  Outlets(LinkContext& context, LegTrace& trace, Locate locate);

  /// The conduit of an engine's queue pair; `serving` are the NICs that stand for its NICs.
  std::uint32_t open(engine::NicId local, engine::NicId remote, const Path& serving,
                     engine::Rank peer, int index);
  engine::Ticket post_write(std::uint32_t conduit, const engine::WriteRequest& request);
  void post_message(engine::Rank target, const Path& path, const engine::Message& message);

  void accepted(engine::Rank peer, const AcceptFrame& frame);
  void refused(engine::Rank peer, const RefuseFrame& frame);
  void closed(engine::Rank peer, const ClosedFrame& frame);
  void broken(engine::Rank peer, const BrokenFrame& frame);
  /// A completion of a payload or a header, if the queue pair is one of these.
  void complete(const ibv_wc& completion);
  /// Tries paths that have failed.
  void tick(engine::Seconds now);
  /// What is not known to have come to the peer has failed.
  void lose(engine::Rank peer);

  [[nodiscard]] std::optional<engine::Seconds> next_deadline() const { return paths_.next_due(); }
  /// Nothing that was posted is unfinished. From any thread.
  [[nodiscard]] bool idle() const { return unfinished_.load(std::memory_order_acquire) == 0; }
  /// As Inlets::take_offenders().
  std::vector<std::pair<engine::Rank, std::string>> take_offenders();
  /// For tests: the index-th queue pair (modulo their number) that carries writes or messages
  /// fails, as it would of itself. False: there is none.
  bool break_one(std::uint64_t index);

 private:
  Outlet& add(engine::Rank peer, ConduitUse use, const Path& preferred);
  void push(Outlet& outlet, Outlet::Item item);
  /// Does what the outlet's state allows for its items.
  void advance(Outlet& outlet);
  void connect(Outlet& outlet);
  /// The first item that is not on the queue pair.
  void post_front(Outlet& outlet);
  /// That item cannot be sent at all.
  void drop(Outlet& outlet);
  [[nodiscard]] std::optional<Path> choose(const Outlet& outlet) const;
  /// The outlet that the answer is for, if it still waits for that one.
  Outlet* awaiting(engine::Rank peer, std::uint32_t conduit, std::uint32_t attempt,
                   Outlet::State state);
  /// Items up to that sequence have come. False: the peer claims what cannot be.
  bool take_received(Outlet& outlet, std::uint64_t received);
  void finish_front(Outlet& outlet, engine::Outcome outcome);
  /// The queue pair is of no use any more; goes on with another.
  void fail(Outlet& outlet, bool path_failed, const std::string& why);
  void mark_failed(engine::Rank peer, const Path& path);
  void mark_working(engine::Rank peer, const Path& path);
  void give_up(Outlet& outlet);
  void drop_queue_pair(Outlet& outlet);
  void say(const Outlet& outlet, const std::string& what) const;

  LinkContext& context_;
  LegTrace& trace_;
  const Locate locate_;
  std::deque<Outlet> outlets_;  ///< by number
  std::map<std::tuple<engine::NicId, engine::NicId, engine::Rank, int>, std::uint32_t> of_writes_;
  std::map<engine::Rank, std::uint32_t> of_messages_;
  std::map<PathBook::Failed, std::uint32_t> of_probes_;
  std::map<std::uint64_t, std::uint32_t> by_serial_;
  PathBook paths_;
  std::set<engine::Rank> lost_;
  std::atomic<std::int64_t> unfinished_{0};
  std::vector<std::pair<engine::Rank, std::string>> offenders_;
};

}  // namespace hoccl::hw
