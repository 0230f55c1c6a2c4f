#pragma once

// Owners of libibverbs' objects. Destroying one that is still in use fails, so each is kept by who
// outlives its users; the return codes of the destructors tell nothing that could be acted on.

#include <infiniband/verbs.h>

#include <memory>

namespace hoccl::hw {

template <auto destroy>
struct VerbsDeleter {
  template <class Object>
  void operator()(Object* object) const {
    destroy(object);
  }
};

using ContextHandle = std::unique_ptr<ibv_context, VerbsDeleter<&ibv_close_device>>;
using DomainHandle = std::unique_ptr<ibv_pd, VerbsDeleter<&ibv_dealloc_pd>>;
using CompletionChannelHandle =
    std::unique_ptr<ibv_comp_channel, VerbsDeleter<&ibv_destroy_comp_channel>>;
using CompletionQueueHandle = std::unique_ptr<ibv_cq, VerbsDeleter<&ibv_destroy_cq>>;
using QueuePairHandle = std::unique_ptr<ibv_qp, VerbsDeleter<&ibv_destroy_qp>>;
using MemoryRegionHandle = std::unique_ptr<ibv_mr, VerbsDeleter<&ibv_dereg_mr>>;

}  // namespace hoccl::hw
