#pragma once

#include <type_traits>

#include "engine/base/units.h"

namespace hoccl::sim {

/// Payload bytes that crossed each class of link in one iteration, counted once per transfer: where
/// the sender's port is.
struct LinkBytes {
  engine::Bytes nvlink;
  engine::Bytes nic;
  engine::Bytes pcie;

  bool operator==(const LinkBytes&) const = default;
};

/// One size of one scenario. Times are means over the measured iterations. Plain data: it crosses a
/// pipe between processes.
struct RunResult {
  engine::Bytes size;
  engine::Seconds time{0.0};  ///< all streams at the operation to all streams beyond it
  engine::BytesPerSecond algbw;
  engine::BytesPerSecond busbw;
  engine::Seconds bound{0.0};             ///< lower bound on `time` at nominal rates
  engine::Seconds calibrated_bound{0.0};  ///< at calibrated rates
  engine::Seconds launch{0.0};            ///< the caller's CPU time to enqueue, of the busiest rank
  engine::Seconds submit{0.0};  ///< a source's CPU time to post copies and writes, busiest source
  engine::Seconds proxy{0.0};   ///< all proxy CPU time of the busiest rank, relays included
  int sms = 0;                  ///< most SMs that communication held at once on any GPU
  LinkBytes link_bytes;
};
static_assert(std::is_trivially_copyable_v<RunResult>);

}  // namespace hoccl::sim
