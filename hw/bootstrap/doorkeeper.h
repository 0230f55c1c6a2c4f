#pragma once

#include <poll.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/units.h"
#include "hw/bootstrap/deadline.h"
#include "hw/bootstrap/hello.h"
#include "hw/bootstrap/refusal_log.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// The server's end of hellos: lets the ranks above its own in, once each, and nobody else. It
/// never blocks, keeps a bounded number of strangers, each for a bounded time, and prefers new ones
/// to old ones, so strangers cannot keep a rank out.
class Doorkeeper {
 public:
  static constexpr std::size_t kMaxStrangers = 256;

  struct Guest {
    engine::Rank rank;
    FileDescriptor socket;
    SessionKeys keys;
  };
  /// Why a connection is refused before a word is said.
  using Objection = std::function<std::optional<std::string>(const FileDescriptor&)>;

  Doorkeeper(FileDescriptor listener, const MacKey& key, const Introduction& self,
             engine::Seconds hello_timeout, Objection objection = {});

  /// What poll() must watch for.
  void add_to(std::vector<pollfd>& watched) const;
  /// When serve() must be called even if nothing happens.
  [[nodiscard]] std::optional<Deadline> deadline() const;
  /// Does what can be done now; returns who was let in.
  std::vector<Guest> serve();
  /// In rank order.
  [[nodiscard]] std::vector<engine::Rank> missing() const;
  /// Of a guest that has gone: it may come again.
  void forget(engine::Rank rank) { present_[rank.index()] = false; }

 private:
  struct Stranger {
    FileDescriptor socket;
    PeerName name;
    GreetingBytes greeting;
    Deadline deadline;
    HelloBytes hello{};
    std::size_t received = 0;
  };
  enum class Progress : std::uint8_t { kWaiting, kComplete, kGone };

  void accept_strangers();
  void welcome(FileDescriptor socket);
  /// Nothing while the hello is incomplete; the verdict afterwards, also for one that ended early.
  Progress receive(Stranger& stranger);
  std::optional<Guest> judge(Stranger& stranger);
  Verdict verdict_on(const HelloReading& reading) const;
  std::string reason(Verdict verdict, const HelloReading& reading) const;

  FileDescriptor listener_;
  MacKey key_;
  Introduction self_;
  engine::Seconds hello_timeout_;
  Objection objection_;
  std::deque<Stranger> strangers_;  ///< oldest first
  std::vector<bool> present_;       ///< by rank
  RefusalLog log_;
};

}  // namespace hoccl::hw
