#pragma once

#include "engine/base/check.h"
#include "hw/link/local_link.h"
#include "hw/node/node.h"

namespace hoccl::hw {

/// A wire on which nothing moves: the full send slot and the empty receive slot exchange their
/// memory. For measuring the copy legs alone.
class MapLink final : public LocalLink {
 public:
  explicit MapLink(Node& node)
      : LocalLink(node.messenger(), node.doorbell()), staging_(node.staging()) {}

 private:
  void carry(const Write& write) override {
    HOCCL_CHECK(staging_.is_slot(write.request.local.buffer),
                "nothing moves on a map wire, so it cannot carry user buffers");
    staging_.exchange(write.request.local, write.request.remote);
    arrives(write);
  }

  StagingService& staging_;
};

}  // namespace hoccl::hw
