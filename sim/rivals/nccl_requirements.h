#pragma once

#include <string_view>

#include "engine/topology/topology.h"

namespace hoccl::sim {

/// Throws ConfigError where NCCL does not run: several ranks on one physical GPU, a GPU without NIC
/// in a cluster, NICs that move nothing.
void require_nccl_topology(const engine::Topology& topology);

/// Whether the text begins like "nccl:<k>sm".
bool is_nccl_system(std::string_view system);
/// The k of "nccl:<k>sm"; throws ConfigError "system = TEXT: expected ...".
int parse_nccl_channels(std::string_view system);

}  // namespace hoccl::sim
