#pragma once

#include <cstdint>
#include <string>

#include "engine/base/units.h"

namespace hoccl::hw {

/// What a GPU did, as its profiling interface (CUPTI) tells it.
enum class ActivityKind : std::uint8_t { kMemcpy, kMemset, kKernel };

enum class CopyDirection : std::uint8_t {
  kDeviceToHost,
  kHostToDevice,
  kPeer,            ///< from one GPU to another
  kDeviceToDevice,  ///< within one GPU
  kOther,
};
inline constexpr int kCopyDirectionCount = 5;

/// The hardware queue that ran it. A copy that shows on the compute channel was made by SMs,
/// although no kernel is recorded for it.
enum class Channel : std::uint8_t { kCompute, kCopyEngine, kOther };

struct Activity {
  ActivityKind kind = ActivityKind::kMemcpy;
  CopyDirection direction = CopyDirection::kOther;  ///< of a copy
  Channel channel = Channel::kOther;
  engine::Bytes bytes{};        ///< of all copies of the record together
  std::int64_t copy_count = 1;  ///< a batch may be one record of several copies
  std::int64_t begin_ns = 0;    ///< of the GPU's clock; both 0 when the record was incomplete
  std::int64_t end_ns = 0;
  std::string name{};  ///< of a kernel
};

/// "D2H", "H2D", "P2P", "D2D", "other".
const char* to_string(CopyDirection direction);
/// "compute", "copy engine", "other".
const char* to_string(Channel channel);

}  // namespace hoccl::hw
