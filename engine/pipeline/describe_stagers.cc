#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/pipeline/receive_stager.h"
#include "engine/pipeline/send_stager.h"

namespace hoccl::engine {
namespace {

std::string chunk_of(const Descriptor& descriptor) {
  return fmt::format("operation {} flow {} chunk {}", descriptor.operation, descriptor.flow,
                     descriptor.chunk);
}

}  // namespace

void SendStager::describe(std::string& out) const {
  const auto add = std::back_inserter(out);
  // The hash map's order is not the same everywhere.
  std::vector<const Lease*> leases;
  for (const auto& [key, lease] : leases_) leases.push_back(&lease);
  std::ranges::sort(leases, {}, [](const Lease* l) { return FlowKey(l->operation, l->flow); });
  for (const Lease* lease : leases) {
    fmt::format_to(add,
                   "lease of operation {} flow {}, nic {} -> nic {}, from rank {} to rank {}: {} "
                   "chunks to grant, {} outstanding{}\n",
                   lease->operation, lease->flow, lease->link->send_nic, lease->link->receive_nic,
                   lease->source, lease->target, lease->to_grant, lease->outstanding,
                   lease->cancelled ? ", cancelled" : "");
  }
  for (const auto& [nics, link] : links_) {
    const bool writing = std::ranges::any_of(
        link.queue_pairs, [](const QueuePair* pair) { return !pair->in_flight.empty(); });
    if (link.to_grant == 0 && link.credits.empty() && link.outbox.empty() && !writing) continue;
    fmt::format_to(
        add,
        "link nic {} -> nic {}: {} chunks to grant, {} credits, {} chunks in the outbox, "
        "writes in flight per queue pair:",
        link.send_nic, link.receive_nic, link.to_grant, link.credits.size(), link.outbox.size());
    for (const QueuePair* queue_pair : link.queue_pairs) {
      fmt::format_to(add, " {}", queue_pair->in_flight.size());
    }
    out += '\n';
  }
  for (const auto& [place, pool] : pools_) {
    fmt::format_to(add, "send slots of place {}: {} of {} idle\n", place, pool.slots.free_count(),
                   pool.slots.size());
    for (std::size_t i = 0; i < pool.slots.size(); ++i) {
      const Slot& slot = pool.slots[i];
      if (slot.state == SendState::kIdle) continue;
      fmt::format_to(add, "  slot {} generation {}: {}, operation {} flow {}", i, slot.generation,
                     to_string(slot.state), slot.lease->operation, slot.lease->flow);
      // Before that the descriptor is that of an earlier chunk.
      if (slot.descriptor.generation == slot.generation) {
        fmt::format_to(add, " chunk {}", slot.descriptor.chunk);
      }
      fmt::format_to(add, ", for receive slot {} of place {}\n", slot.credit.slot,
                     slot.credit.place);
    }
  }
}

void ReceiveStager::describe(std::string& out) const {
  const auto add = std::back_inserter(out);
  for (const auto& [nics, demand] : demands_) {
    if (demand.wanted == 0) continue;
    fmt::format_to(add, "demand of nic {} -> nic {}, from rank {}: {} credits wanted\n",
                   demand.send_nic, demand.receive_nic, demand.send_host, demand.wanted);
  }
  for (const auto& [place, pool] : pools_) {
    fmt::format_to(add, "receive slots of place {}: {} of {} idle\n", place,
                   pool.slots.free_count(), pool.slots.size());
    for (std::size_t i = 0; i < pool.slots.size(); ++i) {
      const Slot& slot = pool.slots[i];
      if (slot.state == ReceiveState::kIdle) continue;
      fmt::format_to(add, "  slot {} generation {}: {}", i, slot.generation, to_string(slot.state));
      if (slot.promised_to != nullptr) {
        fmt::format_to(add, ", promised to nic {}\n", slot.promised_to->send_nic);
      } else {
        fmt::format_to(add, ", {}, waits for ranks {}\n", chunk_of(slot.descriptor),
                       fmt::join(slot.waiting_for, ", "));
      }
    }
  }
}

}  // namespace hoccl::engine
