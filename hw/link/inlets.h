#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hw/link/link_context.h"
#include "hw/link/wire_header.h"
#include "hw/verbs/registration.h"

namespace hoccl::hw {

/// The receiving ends of all conduits to this rank. See control_frame.h for who says what when.
class Inlets {
 public:
  explicit Inlets(LinkContext& context) : context_(context) {}

  void connect(engine::Rank sender, const ConnectFrame& frame);
  void close(engine::Rank sender, const CloseFrame& frame);
  void take(engine::Rank sender, const ItemFrame& frame);
  /// A completion of a receive, if the queue pair is one of these.
  void complete(const ibv_wc& completion);
  /// Goes on with what waits for queue pairs to be flushed.
  void tick(engine::Seconds now);
  /// Closes all of the peer's; yields Gone when nothing of it can come any more.
  void lose(engine::Rank peer);

  [[nodiscard]] bool must_tick() const { return draining_ > 0 || !leaving_.empty(); }
  /// Ranks that have said what no link says, since last asked, and what.
  std::vector<std::pair<engine::Rank, std::string>> take_offenders();

 private:
  using Key = std::pair<engine::Rank, std::uint32_t>;
  struct Inlet {
    std::uint32_t attempt = 0;
    std::uint64_t received = 0;
    std::unique_ptr<RcQueuePair> queue_pair;
    std::vector<WireHeader> ring;
    RegisteredMemory ring_memory;  ///< after the ring, which it names
    int receives = 0;              ///< posted, not completed
    bool is_draining = false;
    bool was_cut_short = false;  ///< the last drain ended by time
    engine::Seconds drain_end;
    std::optional<ConnectFrame> next;  ///< to be answered once drained
    std::optional<CloseFrame> last;
  };

  void open(const Key& key, Inlet& inlet, const ConnectFrame& frame);
  /// Lets what has come over the queue pair come, and nothing more.
  void drain(Inlet& inlet);
  void end_drain(const Key& key, Inlet& inlet);
  void deliver(engine::Rank sender, Inlet& inlet, const WireHeader& header);
  void accuse(engine::Rank sender, const std::string& what) {
    offenders_.emplace_back(sender, what);
  }

  LinkContext& context_;
  std::map<Key, Inlet> inlets_;
  std::map<std::uint64_t, Key> by_serial_;
  int draining_ = 0;
  std::set<engine::Rank> leaving_;  ///< lost, not yet Gone
  std::set<engine::Rank> gone_;
  std::vector<std::pair<engine::Rank, std::string>> offenders_;
};

}  // namespace hoccl::hw
