#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "hw/bootstrap/bootstrap.h"

namespace hoccl::hw {

/// Authenticated TCP connections to ranks of other hosts. They carry what is rare and must arrive
/// whatever the RDMA network does: addresses of queue pairs, what to replay, messages while no
/// queue pair works. Their end tells that a rank is gone: at once when its process ends, within
/// kSilence when its host or the network does.
class RemoteMesh {
 public:
  using OnFrame = std::function<void(engine::Rank, std::string_view)>;
  using OnLost = std::function<void(engine::Rank, bool died)>;
  static constexpr engine::Seconds kSilence{10.0};

  /// Collective over all ranks of the job: connects this rank with `peers`, who name it in turn.
  /// Throws BootstrapError naming a rank that did not come or was lost.
  RemoteMesh(Bootstrap& bootstrap, const std::vector<engine::Rank>& peers);
  /// Says goodbye to all peers: for them this rank has left, not died. What was sent before goes
  /// first; until then the callbacks are called.
  ~RemoteMesh();

  /// Starts the thread that receives. `on_frame` is called there, in order per peer. `on_lost` is
  /// called there once per peer, after its last frame; `died` is false after a goodbye.
  void start(OnFrame on_frame, OnLost on_lost);

  /// To a peer, from any thread; never blocks. In order per peer. At most 1 MiB. Nothing happens
  /// when the peer is lost.
  void send(engine::Rank peer, std::string_view frame);
  /// Ends the connection to a peer that talks nonsense; `on_lost` then reports it as one that died.
  /// From any thread.
  void cut(engine::Rank peer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hoccl::hw
