#pragma once

#include <memory>
#include <string>

#include "hw/fabric/hw_options.h"
#include "hw/link/link.h"
#include "hw/node/node.h"
#include "hw/trace/leg_trace.h"

namespace hoccl::hw {

/// What a link tells from threads of its own.
struct LinkEvents {
  /// BufferRegistered, BufferImported. The doorbell rings after each.
  std::function<void(const engine::Completion&)> completed;
  /// A rank that is no member of the node is gone; `died` is false when it had said goodbye.
  std::function<void(engine::Rank peer, bool died)> lost;
};

/// Collective over all ranks of the job. Throws ConfigError when this program or machine does not
/// have the link, or the link's own errors.
std::unique_ptr<Link> make_link(const HwOptions& options, Bootstrap& bootstrap,
                                const engine::Topology& topology, Node& node, Device& device,
                                LegTrace& trace, LinkEvents events);

/// This program has --link verbs.
bool has_verbs();
/// Why slots cannot lie in the GPU's memory with this link; empty: they can.
std::string objection_to_gpu_slots(const HwOptions& options, const engine::Topology& topology,
                                   engine::Rank rank, Device& device);

}  // namespace hoccl::hw
