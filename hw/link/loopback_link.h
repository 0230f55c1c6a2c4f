#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <thread>

#include "hw/link/local_link.h"
#include "hw/node/node.h"
#include "hw/trace/leg_trace.h"

namespace hoccl::hw {

/// A thread plays the rank's NICs: it copies from send slots to the receive slots of the remote
/// place, or from user buffer to user buffer; all processes of the host map them. With a rate, a
/// NIC sends one write after the other at that rate; with a delay, each arrives that much later.
class LoopbackLink final : public LocalLink {
 public:
  struct Wire {
    std::optional<engine::BytesPerSecond> rate;  ///< none: as fast as memcpy
    engine::Seconds delay;
  };

  LoopbackLink(Node& node, const Wire& wire, LegTrace& trace);
  ~LoopbackLink() override;

 private:
  /// A write on its way: first it is copied when its turn comes, then it arrives.
  struct Event {
    engine::Seconds time;
    std::int64_t order = 0;
    bool arrives = false;
    engine::Seconds begin;  ///< when its first byte left
    Write write;
    PinnedBytes source;
    PinnedBytes target;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  using Events = std::priority_queue<Event, std::vector<Event>, std::greater<>>;

  void carry(const Write& write) override;
  void run();
  void happen(Event event);

  Node& node_;
  const Wire wire_;
  LegTrace& trace_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Events events_;                                     ///< under mutex_
  std::map<engine::NicId, engine::Seconds> free_at_;  ///< under mutex_; when the NIC can send next
  std::int64_t next_order_ = 0;                       ///< under mutex_
  bool stopping_ = false;                             ///< under mutex_
  std::thread thread_;                                ///< started with the first write
};

}  // namespace hoccl::hw
