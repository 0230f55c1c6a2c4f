#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/pipeline/receive_stager.h"
#include "engine/pipeline/send_stager.h"

namespace hoccl::engine {
namespace {

std::string way_of(NicId send, NicId receive) {
  if (send.is_none()) return "relayed";
  return fmt::format("nic {} -> nic {}", send, receive);
}

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
  std::ranges::sort(leases, {},
                    [](const Lease* l) { return LeaseKey(l->operation, l->flow, l->stage); });
  for (const Lease* lease : leases) {
    fmt::format_to(
        add, "lease of operation {} flow {}, {}, from rank {} to rank {}: ", lease->operation,
        lease->flow,
        way_of(lease->legs.front().link->send_nic, lease->legs.front().link->receive_nic),
        lease->source, lease->legs.front().target);
    if (lease->legs.size() > 1) fmt::format_to(add, "{} nodes, ", lease->legs.size());
    fmt::format_to(add, "{} chunks to grant, {} outstanding{}\n",
                   lease->requested - lease->granted(), lease->outstanding,
                   lease->cancelled ? ", cancelled" : "");
  }
  for (const auto& [nics, link] : links_) {
    const bool writing = std::ranges::any_of(
        link.queue_pairs, [](const QueuePair* pair) { return !pair->in_flight.empty(); });
    const std::size_t staged = link.outbox[0].size() + link.outbox[1].size();
    if (link.wanted == 0 && link.credits.empty() && staged == 0 && !writing) continue;
    fmt::format_to(
        add,
        "link nic {} -> nic {}: {} chunks to grant, {} credits, {} chunks in the outbox, "
        "writes in flight per queue pair:",
        link.send_nic, link.receive_nic, link.wanted, link.credits.size(), staged);
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
      for (std::size_t leg = 0; leg < slot.lease->legs.size(); ++leg) {
        if (slot.lease->legs[leg].link->is_local()) continue;
        fmt::format_to(add, ", for receive slot {} of place {}", slot.credits[leg].slot,
                       slot.credits[leg].place);
      }
      out += '\n';
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
