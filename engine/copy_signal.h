#pragma once

#include <cstdint>

namespace hoccl::engine {

/// How the end of a batch of copies is told.
enum class CopySignal : std::uint8_t {
  kWord,   ///< a word that the engine writes behind it: seen by a read of memory
  kEvent,  ///< an event that the driver is asked about
};

/// A word is seen earlier and costs the CPU nothing until it is there, while each question to the
/// driver takes it a microsecond and holds the lock of the whole process. But the next copy of the
/// engine begins later, when it is written (measured on an H200: seen 1 to 3 us earlier; 1.8 us).
/// So it is for who waits for a batch with nothing ahead of it; where batches follow each other,
/// the engine's time counts. Not reckoned with yet: copies of other lanes and processes pass before
/// the word or wait for it, so that a shared engine is better off with events (hw/GOTCHAS.md).
constexpr CopySignal copy_signal(bool lane_is_idle) {
  return lane_is_idle ? CopySignal::kWord : CopySignal::kEvent;
}

}  // namespace hoccl::engine
