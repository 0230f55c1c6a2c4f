#include "hw/calibrate/sample_series.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <ostream>
#include <string_view>

#include "engine/base/check.h"
#include "engine/base/config_error.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

constexpr std::string_view kHeader =
    "measurement,subject,size_bytes,count,connections,sample,time_us";
constexpr std::string_view kNote = "# ";
constexpr std::string_view kDevice = "# device: ";
constexpr std::string_view kDriver = "# driver: ";
constexpr std::string_view kToolkit = "# toolkit: ";
constexpr std::string_view kDate = "# date: ";
constexpr std::size_t kFields = 7;

/// Of sorted samples.
Seconds quantile(std::span<const Seconds> sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

template <class Number>
bool parse(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// Empty when there are more or fewer.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  if (fields.size() != kFields) fields.clear();
  return fields;
}

bool read_line(std::string_view line, Samples& samples) {
  const std::vector<std::string_view> fields = fields_of(line);
  if (fields.empty()) return false;
  SeriesKey key{.measurement = std::string(fields[0]), .subject = std::string(fields[1])};
  std::int64_t size = 0;
  double time_us = 0.0;
  if (!parse(fields[2], size) || !parse(fields[3], key.count) ||
      !parse(fields[4], key.connections) || !parse(fields[6], time_us)) {
    return false;
  }
  key.size = Bytes(size);
  samples.add(key, Seconds(time_us * 1e-6));
  return true;
}

/// Whether the line is one; then `value` is what it says.
bool read_comment(std::string_view line, std::string_view name, std::string& value) {
  if (!line.starts_with(name)) return false;
  value = line.substr(name.size());
  return true;
}

}  // namespace

double Summary::spread() const { return median.count() == 0.0 ? 0.0 : (p90 - p10) / median; }

Summary summarise(std::span<const Seconds> samples) {
  HOCCL_CHECK(!samples.empty(), "nothing to summarise");
  std::vector<Seconds> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return {.count = sorted.size(),
          .median = quantile(sorted, 0.5),
          .p10 = quantile(sorted, 0.1),
          .p90 = quantile(sorted, 0.9),
          .min = sorted.front(),
          .max = sorted.back()};
}

void Samples::merge(const Samples& other) {
  for (const auto& [key, samples] : other.series_) {
    Series& own = series_[key];
    own.insert(own.end(), samples.begin(), samples.end());
  }
  notes_.insert(notes_.end(), other.notes_.begin(), other.notes_.end());
}

const Samples::Series* Samples::find(const SeriesKey& key) const {
  const auto found = series_.find(key);
  return found == series_.end() || found->second.empty() ? nullptr : &found->second;
}

void write_samples(std::ostream& stream, const Samples& samples) {
  fmt::print(stream, "{}{}\n{}{}\n{}{}\n{}{}\n", kDevice, samples.machine.device, kDriver,
             samples.machine.driver, kToolkit, samples.machine.toolkit, kDate,
             samples.machine.date);
  for (const std::string& note : samples.notes()) fmt::print(stream, "{}{}\n", kNote, note);
  fmt::print(stream, "{}\n", kHeader);
  for (const auto& [key, series] : samples.series()) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      fmt::print(stream, "{},{},{},{},{},{},{:.4f}\n", key.measurement, key.subject,
                 key.size.count(), key.count, key.connections, i, engine::microseconds(series[i]));
    }
  }
}

Samples read_samples(std::istream& stream) {
  Samples samples;
  std::string line;
  bool has_header = false;
  for (int number = 1; std::getline(stream, line); ++number) {
    if (read_comment(line, kDevice, samples.machine.device) ||
        read_comment(line, kDriver, samples.machine.driver) ||
        read_comment(line, kToolkit, samples.machine.toolkit) ||
        read_comment(line, kDate, samples.machine.date)) {
      continue;
    }
    if (line.starts_with(kNote)) {
      samples.note(line.substr(kNote.size()));
    } else if (!has_header) {
      if (line != kHeader) {
        throw engine::ConfigError(fmt::format("samples, line {}: expected '{}'", number, kHeader));
      }
      has_header = true;
    } else if (!read_line(line, samples)) {
      throw engine::ConfigError(
          fmt::format("samples, line {}: '{}': expected {}", number, line, kHeader));
    }
  }
  if (!has_header) throw engine::ConfigError("samples: nothing but notes");
  return samples;
}

}  // namespace hoccl::hw
