#include "experiments/hoccl/calibrate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "engine/base/config_error.h"
#include "hw/calibrate/gate_table.h"
#include "hw/calibrate/what_is_measured.h"

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::Seconds;
using hw::Samples;
using hw::SeriesKey;
using hw::Summary;

constexpr std::array kClasses = {"d2h", "h2d", "peer"};

std::string us(Seconds time) { return fmt::format("{:.2f}", engine::microseconds(time)); }

/// "3.70 [3.61, 4.02]"
std::string with_spread(const std::optional<Summary>& summary) {
  if (!summary) return "-";
  return fmt::format("{} [{}, {}]", us(summary->median), us(summary->p10), us(summary->p90));
}

std::optional<Summary> summary_of(const Samples& samples, const SeriesKey& key) {
  const Samples::Series* series = samples.find(key);
  if (series == nullptr) return std::nullopt;
  return hw::summarise(*series);
}

std::string median(const Samples& samples, const SeriesKey& key) {
  const std::optional<Summary> summary = summary_of(samples, key);
  return summary ? us(summary->median) : "-";
}

/// As the measured ones are printed: the entry says "119.99999999999999ns".
std::string base_value(const sim::CalibrationEntry& entry) {
  try {
    return fmt::format("{:.3f}us", engine::microseconds(engine::parse_seconds(entry.value)));
  } catch (const engine::ConfigError&) {  // no time
    return entry.value;
  }
}

void print_engines(const Samples& samples) {
  fmt::print("# engine time per copy in us, back to back in one stream (GB/s)\n{:>9}", "size");
  for (const char* name : kClasses) fmt::print("{:>22}", name);
  fmt::print("\n");
  for (const Bytes size : hw::kEngineSizes) {
    fmt::print("{:>9}", engine::to_string(size));
    for (const char* name : kClasses) {
      const auto summary = summary_of(samples, {hw::kEngineTime, name, size, 1});
      fmt::print("{:>22}", summary
                               ? fmt::format("{} ({:.2f})", us(summary->median),
                                             engine::gigabytes_per_second(size / summary->median))
                               : "-");
    }
    fmt::print("\n");
  }
}

void print_batches(const Samples& samples) {
  fmt::print(
      "# batches: engine time per copy in us, by copies in a batch; at the end the CPU time "
      "of a batch's call\n{:>5} {:>9}",
      "class", "size");
  for (const int count : hw::kBatchCounts) fmt::print("{:>9}", count);
  fmt::print("\n");
  for (const char* name : kClasses) {
    for (const Bytes size : hw::kBatchSizes) {
      fmt::print("{:>5} {:>9}", name, engine::to_string(size));
      for (const int count : hw::kBatchCounts) {
        const auto summary = summary_of(samples, {hw::kBatchTime, name, size, count});
        fmt::print("{:>9}", summary ? us(summary->median / count) : "-");
      }
      fmt::print("\n");
    }
    fmt::print("{:>5} {:>9}", name, "call");
    for (const int count : hw::kBatchCounts) {
      fmt::print("{:>9}", median(samples, {hw::kBatchCall, name, hw::kCallSize, count}));
    }
    fmt::print("\n");
  }
}

void print_sharing(const Samples& samples) {
  fmt::print("# engine time per copy in us: one stream, two streams in turn\n");
  for (const char* name : kClasses) {
    for (const Bytes size : hw::kStreamsSizes) {
      fmt::print("{:>5} {:>9} {:>9} {:>9}\n", name, engine::to_string(size),
                 median(samples, {hw::kEngineTime, name, size, 1}),
                 median(samples, {hw::kStreamsTime, name, size, 2}));
    }
    fmt::print("{:>5} {:>9} one in each of {} streams, ends:", name,
               engine::to_string(hw::kStreamEndSize), hw::kStreamEndCount);
    for (int place = 1; place <= hw::kStreamEndCount; ++place) {
      fmt::print(" {}", median(samples, {hw::kStreamEnd, name, hw::kStreamEndSize, place}));
    }
    fmt::print("\n");
  }
  fmt::print("# both directions at once: engine time per copy in us (GB/s)\n");
  for (const Bytes size : hw::kDuplexSizes) {
    fmt::print("{:>9}", engine::to_string(size));
    for (const char* name : {"d2h", "h2d"}) {
      const auto summary = summary_of(samples, {hw::kDuplexTime, name, size, 1});
      fmt::print("  {} {}", name,
                 summary ? fmt::format("{} ({:.2f})", us(summary->median),
                                       engine::gigabytes_per_second(size / summary->median))
                         : "-");
    }
    fmt::print("\n");
  }
}

void print_latencies(const Samples& samples) {
  fmt::print(
      "# from the call of a copy on an idle engine until the CPU sees its end, in us, "
      "median [p10, p90]\n{:>5} {:>9} {:>24} {:>24} {:>24}\n",
      "class", "size", "event query", "word written behind it", "its own data");
  for (const char* name : kClasses) {
    for (const Bytes size : hw::kLatencySizes) {
      const auto seen = [&](const char* measurement) {
        return with_spread(summary_of(samples, {measurement, name, size, 1}));
      };
      fmt::print("{:>5} {:>9} {:>24} {:>24} {:>24}\n", name, engine::to_string(size),
                 seen(hw::kDoneSeen), seen(hw::kWriteSeen), seen(hw::kDataSeen));
    }
  }
  fmt::print("# engine time per copy in us with nothing, an event, a written word behind each\n");
  for (const char* name : kClasses) {
    for (const Bytes size : hw::kSignalSizes) {
      const auto time = [&](const char* signal) {
        return median(samples,
                      {hw::kSignalEngineTime, fmt::format("{}+{}", name, signal), size, 1});
      };
      fmt::print("{:>5} {:>9} {:>9} {:>9} {:>9}\n", name, engine::to_string(size), time("nothing"),
                 time("event"), time("write"));
    }
  }
}

void print_calls(const Samples& samples) {
  fmt::print("# CPU time of calls in us, median [p10, p90]\n");
  for (const auto& [key, series] : samples.series()) {
    if (!key.measurement.starts_with("call_") || key.measurement == hw::kBatchCall) continue;
    // Those taken with the latencies are there for every size.
    if (key.count == 1 && key.size != hw::kSignalSize) continue;
    fmt::print("{:<22} {:<8} {:>24}\n", key.measurement, key.subject,
               with_spread(hw::summarise(series)));
  }
}

void print_gates(const Samples& samples) {
  fmt::print("# gates, in us, median [p10, p90]; bubble: how much longer a row of memsets takes\n");
  for (const hw::GateRow& row : gate_table(samples)) {
    fmt::print("{}, CUDA_DEVICE_MAX_CONNECTIONS={}\n", row.mechanism, row.connections);
    fmt::print("  ready latency {:<22} resume latency {:<22}\n", with_spread(row.ready_latency),
               with_spread(row.resume_latency));
    fmt::print("  CPU per ready {:<22} CPU per wait   {:<22}\n", with_spread(row.ready_call),
               with_spread(row.wait_call));
    fmt::print("  bubble, same stream {:<22} other stream (closed for 2 ms) {}\n",
               with_spread(row.same_stream_bubble), with_spread(row.other_stream_bubble));
  }
}

}  // namespace

void print_samples(const Samples& samples) {
  const hw::MeasuredMachine& machine = samples.machine;
  fmt::print("# measured: {}, driver {}, CUDA {}, {}\n", machine.device, machine.driver,
             machine.toolkit, machine.date);
  for (const std::string& note : samples.notes()) fmt::print("# {}\n", note);
  print_engines(samples);
  print_batches(samples);
  print_sharing(samples);
  print_latencies(samples);
  print_calls(samples);
  print_gates(samples);
}

void print_constants(const std::vector<hw::MeasuredConstant>& constants,
                     const sim::Calibration& base) {
  const std::vector<sim::CalibrationEntry> entries = base.entries();
  fmt::print("# {:<34} {:>12} {:>12}\n", "constant", "measured", "base");
  for (const hw::MeasuredConstant& constant : constants) {
    const auto found = std::ranges::find(entries, constant.key, &sim::CalibrationEntry::key);
    fmt::print("{:<36} {:>12} {:>12}\n", constant.key, constant.value,
               found == entries.end() ? "-" : base_value(*found));
  }
  fmt::print("# all {} other constants are the base's\n", entries.size() - constants.size());
}

}  // namespace hoccl::cli
