#pragma once

#include <cstdint>
#include <string>

#include "sim/run/scenario.h"

namespace hoccl::sim {

enum class SystemKind : std::uint8_t {
  kHoccl,
  kNcclKernels,  ///< nccl:<k>sm
  kNcclZero,     ///< nccl:zero, without SMs where its conditions hold
  kVccl,
};

/// Throws ConfigError "system = TEXT: expected ...".
SystemKind kind_of(const std::string& system);

/// Why this scenario's rival without SMs runs NCCL's kernels instead; empty: it does not, or is
/// none.
std::string fallback_reason(const Scenario& scenario);

/// Whether NCCL's kernels move the bytes, as the system itself or because of a fallback.
bool runs_kernels(const Scenario& scenario);
/// Whether VCCL copies buffers that are not registered into slots of their own GPU.
bool stages_on_sms(const Scenario& scenario);
/// Whether no message of the scenario crosses nodes.
bool stays_within_nodes(const Scenario& scenario);
/// Whether messages between nodes leave through the NIC of the receiver's rail.
bool uses_pxn(const Scenario& scenario);
/// Channels of those kernels.
int kernel_channels(const Scenario& scenario);
/// Their constants: NCCL's, or those of VCCL's staging.
NcclConstants kernel_constants(const Scenario& scenario);

/// What the rival without SMs compiles and posts: messages straight between registered buffers,
/// pieces and connections as its sources have them.
Scenario rival_plan(const Scenario& scenario);

}  // namespace hoccl::sim
