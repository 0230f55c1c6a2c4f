#pragma once

#include <deque>
#include <map>
#include <memory>
#include <semaphore>
#include <vector>

#include "engine/base/units.h"
#include "hw/bootstrap/bootstrap.h"
#include "hw/bootstrap/remote_mesh.h"
#include "hw/device/host_device.h"
#include "hw/link/link_context.h"
#include "hw/link/user_buffers.h"
#include "hw/node/buffer_registry.h"
#include "hw/node/local_mesh.h"
#include "hw/verbs/nic.h"

namespace hoccl::hw {

/// User buffers of a job of one rank, registered as the link `verbs` does it.
class CachedRegistration {
 public:
  /// Throws BootstrapError.
  CachedRegistration(const std::vector<std::unique_ptr<Nic>>& nics, const VerbsOptions& options);

  /// Registers an allocation and then its second half as a buffer of its own, `rounds` times after
  /// one that is not counted. How long each takes from the call until the link hears of the end:
  /// that a thread wakes up is part of it. Throws CalibrationFailed when the allocation cannot be
  /// registered; stderr has the reason.
  std::vector<engine::Seconds> find_again(engine::Bytes size, int rounds);

 private:
  /// Waits until it has ended, too.
  engine::Seconds register_buffer(engine::BufferHandle buffer);
  void release(engine::BufferHandle buffer);

  const std::unique_ptr<Bootstrap> bootstrap_;
  LocalMesh local_mesh_;
  RemoteMesh remote_mesh_;
  HostDevice device_;
  const std::map<engine::Rank, LinkIntroduction> no_peers_;
  std::deque<LinkEvent> no_events_;
  LinkContext context_;
  engine::Seconds ended_at_{0.0};  ///< written before `ended_` is released
  bool is_registered_ = false;     ///< the same
  std::binary_semaphore ended_{0};
  BufferRegistry registry_;
  UserBuffers user_buffers_;  ///< last: its thread uses the others
};

}  // namespace hoccl::hw
