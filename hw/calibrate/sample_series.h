#pragma once

#include <compare>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/base/units.h"

namespace hoccl::hw {

/// What was measured, and under which setting.
struct SeriesKey {
  std::string measurement;  ///< "engine_time"
  std::string subject;      ///< a copy class ("d2h") or a way to do it ("memory-operations")
  engine::Bytes size{};     ///< of one copy; 0: there is none
  int count = 0;            ///< of copies in a batch, of streams, ...; 0: none
  int connections = 0;      ///< CUDA_DEVICE_MAX_CONNECTIONS; 0: not set

  auto operator<=>(const SeriesKey&) const = default;
};

struct Summary {
  std::size_t count = 0;
  engine::Seconds median{0.0};
  engine::Seconds p10{0.0};
  engine::Seconds p90{0.0};
  engine::Seconds min{0.0};
  engine::Seconds max{0.0};

  /// (p90 - p10) / median.
  [[nodiscard]] double spread() const;
};
/// Of at least one sample. Between two samples it interpolates.
Summary summarise(std::span<const engine::Seconds> samples);

/// What samples come from.
struct MeasuredMachine {
  std::string device;   ///< "NVIDIA H200"
  std::string driver;   ///< "580.159.04"
  std::string toolkit;  ///< "13.0"
  std::string date;     ///< "2025-06-30"
};

/// Every sample of every measurement, and what went not as planned.
class Samples {
 public:
  using Series = std::vector<engine::Seconds>;  ///< in order of taking

  MeasuredMachine machine;

  void add(const SeriesKey& key, engine::Seconds sample) { series_[key].push_back(sample); }
  void note(std::string text) { notes_.push_back(std::move(text)); }
  /// Takes over all of `other` but its machine.
  void merge(const Samples& other);

  /// Null when nothing was measured.
  [[nodiscard]] const Series* find(const SeriesKey& key) const;
  [[nodiscard]] const std::map<SeriesKey, Series>& series() const { return series_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::map<SeriesKey, Series> series_;
  std::vector<std::string> notes_;
};

/// One line per sample; machine and notes are comment lines.
void write_samples(std::ostream& stream, const Samples& samples);
/// What write_samples() has written. Throws ConfigError of one line.
Samples read_samples(std::istream& stream);

}  // namespace hoccl::hw
