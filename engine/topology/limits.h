#pragma once

#include "engine/base/units.h"

namespace hoccl::engine {

/// Largest cluster accepted: 128 nodes of 8 is the 1024-GPU target of the simulator, 72 GPUs in
/// a node is one NVL72 rack.
inline constexpr int kMaxNodes = 128;
inline constexpr int kMaxGpusPerNode = 72;
/// Enough for any machine sold (an 8-GPU node has at most 16), and keeps a typing error visible.
inline constexpr int kMaxNicsPerGpu = 16;
/// Ranks that one physical device may be split into.
inline constexpr int kMaxLogicalNodes = 64;
/// Well above any link (a GB200's NVLink is 0.9 TB/s), so that a slip of unit is refused.
inline constexpr BytesPerSecond kMaxRate{100e12};

}  // namespace hoccl::engine
