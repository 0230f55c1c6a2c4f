#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "engine/fabric.h"
#include "hw/bootstrap/remote_mesh.h"
#include "hw/link/control_frame.h"
#include "hw/link/introduction.h"
#include "hw/link/link.h"
#include "hw/link/path_book.h"
#include "hw/verbs/nic.h"
#include "hw/verbs/rc_queue_pair.h"
#include "hw/verbs/verbs_options.h"

namespace hoccl::hw {

/// A write's payload, as both NICs name it over one path.
struct PayloadAddresses {
  WireAddress from;
  WireAddress to;
};

/// What both halves of a verbs link use.
struct LinkContext {
  engine::Rank rank;
  const VerbsOptions& options;
  const std::vector<std::unique_ptr<Nic>>& nics;
  RemoteMesh& mesh;
  /// Of every rank of other nodes.
  const std::map<engine::Rank, LinkIntroduction>& peers;
  /// For the proxy, oldest first.
  std::deque<LinkEvent>& events;
  std::uint64_t next_serial = 1;

  void send(engine::Rank peer, const ControlFrame& frame) const { mesh.send(peer, encode(frame)); }
};

}  // namespace hoccl::hw
