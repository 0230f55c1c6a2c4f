#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "engine/base/units.h"

namespace hoccl::engine {

/// Payload bytes that crossed each class of link in one iteration, counted once per transfer: where
/// the sender's port is.
struct LinkBytes {
  Bytes nvlink;
  Bytes nic;
  Bytes pcie;

  bool operator==(const LinkBytes&) const = default;
};

/// How a measured time was taken. A simulation repeats itself exactly and has none.
struct Rounds {
  int count = 0;       ///< batches of back-to-back operations
  int iterations = 0;  ///< operations of each
  Seconds fastest{0.0};
  Seconds slowest{0.0};
};

/// The legs of a chunk by the names of their trace events, in the order a chunk takes them.
inline constexpr std::array<std::string_view, 4> kLegNames = {"stage_in", "wire", "deliver",
                                                              "direct"};

/// All legs of one kind in one iteration.
struct LegTime {
  std::int64_t count = 0;
  /// Of all engines: legs that overlap on one engine or NIC count once, because there they share
  /// its rate. So busy / count compares engines that interleave with engines that do not.
  Seconds busy{0.0};
};
/// By position in kLegNames.
using LegTimes = std::array<LegTime, kLegNames.size()>;

/// What a rank's GPU was asked for in one operation.
struct DriverUse {
  Seconds time{0.0};  ///< the proxy's, in calls of the GPU's driver
  std::int64_t copies = 0;
  std::int64_t on_sms = 0;  ///< copies that the driver gives to SMs, by their size
};

/// One size of one scenario, simulated or measured. Simulated times are means over the iterations;
/// a measured `time` is the median of the rounds. Plain data: it crosses a pipe between processes.
struct RunResult {
  Bytes size;     ///< as asked for
  Bytes message;  ///< as nccl-tests counts it for algbw: another than `size` where counts are drawn
  Seconds time{0.0};  ///< all streams at the operation to all streams beyond it
  BytesPerSecond algbw;
  BytesPerSecond busbw;
  /// Lower bound on `time` at nominal rates; nothing where the topology's rates are not those of
  /// the machine that was measured.
  std::optional<Seconds> bound;
  std::optional<Seconds> calibrated_bound;  ///< at calibrated rates
  /// At calibrated rates, of plans that load all NICs of a node alike: no bound of others, and
  /// nothing for rivals, own-nic forwarding and saved plans.
  std::optional<Seconds> balanced_bound;
  Seconds launch{0.0};  ///< the caller's CPU time to enqueue, of the busiest rank
  Seconds submit{0.0};  ///< a source's CPU time to post copies and writes, busiest source
  Seconds proxy{0.0};   ///< all proxy CPU time of the busiest rank, relays included
  int sms = 0;          ///< most SMs that communication held at once on any GPU
  std::optional<LinkBytes> link_bytes;  ///< simulated only
  /// Of the rank with the busiest proxy; measured on a GPU only.
  std::optional<DriverUse> driver;
  std::optional<Rounds> rounds;  ///< measured only
  std::optional<LegTimes> legs;  ///< of one traced iteration, where asked for
};
static_assert(std::is_trivially_copyable_v<RunResult>);

}  // namespace hoccl::engine
