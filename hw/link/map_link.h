#pragma once

#include "hw/link/link.h"
#include "hw/node/staging_service.h"

namespace hoccl::hw {

/// A wire on which nothing moves: the full send slot and the empty receive slot exchange their
/// memory. For measuring the copy legs alone.
class MapLink final : public Link {
 public:
  MapLink(const engine::Topology& topology, Messenger& messenger, Doorbell& doorbell,
          StagingService& staging)
      : Link(topology, messenger, doorbell), staging_(staging) {}

 private:
  void carry(const Write& write) override {
    staging_.exchange(write.request.local, write.request.remote);
    arrives(write);
  }

  StagingService& staging_;
};

}  // namespace hoccl::hw
