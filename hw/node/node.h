#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/fabric.h"
#include "engine/topology/topology.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/device/device.h"
#include "hw/node/buffer_registry.h"
#include "hw/node/local_mesh.h"
#include "hw/node/messenger.h"
#include "hw/node/rank_segment.h"
#include "hw/node/staging_service.h"

namespace hoccl::hw {

/// What ranks of one host share: segments, staging pools, user buffers.
class Node {
 public:
  struct Events {
    /// BufferExported, BufferImported: from any thread. The own doorbell rings after each.
    std::function<void(const engine::Completion&)> completed;
    /// A peer's process has ended; `died` is false when it had said goodbye. The doorbell rings.
    std::function<void(engine::Rank peer, bool died)> lost;
  };

  /// Collective over all ranks of the job: returns when everything of all `members` (this rank and
  /// those it shares memory with) is mapped. `events` may be called from now on. Throws
  /// BootstrapError when a rank does not come.
  Node(Bootstrap& bootstrap, const engine::Topology& topology, std::vector<engine::Rank> members,
       const StagingPool::Shape& shape, Device& device, Events events);

  [[nodiscard]] const std::vector<RankSegment>& segments() const { return segments_; }
  [[nodiscard]] Doorbell& doorbell() const { return segments_[rank_.index()].doorbell(); }
  [[nodiscard]] StagingService& staging() { return staging_; }
  [[nodiscard]] BufferRegistry& buffers() { return buffers_; }
  [[nodiscard]] Messenger& messenger() { return messenger_; }
  [[nodiscard]] bool is_member(engine::Rank rank) const;
  /// Ends the process of a member; false where that is not possible.
  bool kill(engine::Rank peer) { return mesh_.kill_peer(peer); }
  /// Memory of a user buffer or a slot.
  [[nodiscard]] PinnedBytes bytes(const engine::Region& region);

 private:
  struct SharePacket;
  void share(Bootstrap& bootstrap);
  void receive(LocalMesh::Packet packet);
  void attach(LocalMesh::Packet packet);
  void peer_lost(engine::Rank peer, bool died);
  [[nodiscard]] bool complete() const;

  const engine::Rank rank_;
  const std::vector<engine::Rank> members_;
  const Events events_;
  std::vector<RankSegment> segments_;        ///< by rank, none for ranks that are no members
  std::shared_ptr<const void> segment_pin_;  ///< the own one: streams write into it
  StagingService staging_;
  Messenger messenger_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string failure_;  ///< why sharing cannot succeed
  bool shared_ = false;
  BufferRegistry buffers_;
  LocalMesh mesh_;  ///< last: its thread calls into all of the above
};

}  // namespace hoccl::hw
