#include "experiments/contention/report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/base/check.h"

namespace hoccl::contention {
namespace {

using engine::gigabytes_per_second;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> times_us(const Measured& measured) {
  std::vector<double> times;
  for (const engine::Seconds time : measured.burst.times) {
    times.push_back(engine::microseconds(time));
  }
  return times;
}

struct Typical {
  double time_us = 0;
  double cycles = 0;
};

Typical typical_of(const Measured& measured) {
  const double time = quantile(times_us(measured), 0.5);
  return {.time_us = time, .cycles = time * mean(measured.burst.sm_clock_mhz)};
}

Change change(std::vector<double> ratios) {
  const auto percent = [](double ratio) { return (ratio - 1) * 100; };
  return {.median_pct = percent(quantile(ratios, 0.5)),
          .lowest_pct = percent(quantile(ratios, 0)),
          .highest_pct = percent(quantile(ratios, 1))};
}

/// The undisturbed product by round.
std::map<int, Typical> alone_by_round(const std::vector<Measured>& measured) {
  std::map<int, Typical> alone;
  for (const Measured& one : measured) {
    if (one.condition == 0) alone[one.round] = typical_of(one);
  }
  return alone;
}

void add(GpuState& sum, const GpuState& one) {
  sum.sm_clock_mhz += one.sm_clock_mhz * one.samples;
  sum.memory_clock_mhz += one.memory_clock_mhz * one.samples;
  sum.power_w += one.power_w * one.samples;
  sum.temperature_c += one.temperature_c * one.samples;
  sum.throttle_reasons |= one.throttle_reasons;
  sum.samples += one.samples;
}

Summary summary_of(std::size_t index, const std::vector<Measured>& measured,
                   const std::map<int, Typical>& alone) {
  Summary summary;
  std::vector<double> times, clocks, time_ratios, cycle_ratios, to_host, to_device, by_sms;
  for (const Measured& one : measured) {
    if (one.condition != index) continue;
    const std::vector<double> of_burst = times_us(one);
    times.insert(times.end(), of_burst.begin(), of_burst.end());
    clocks.push_back(mean(one.burst.sm_clock_mhz));
    const Typical typical = typical_of(one);
    const Typical& reference = alone.at(one.round);
    time_ratios.push_back(typical.time_us / reference.time_us);
    cycle_ratios.push_back(typical.cycles / reference.cycles);
    to_host.push_back(gigabytes_per_second(one.to_host));
    to_device.push_back(gigabytes_per_second(one.to_device));
    by_sms.push_back(gigabytes_per_second(one.by_sms));
    if (one.gpu) add(summary.gpu, *one.gpu);
  }
  HOCCL_CHECK(!times.empty(), "condition {} was not measured", index);
  summary.products = times.size();
  summary.median_us = quantile(times, 0.5);
  summary.p10_us = quantile(times, 0.1);
  summary.p90_us = quantile(times, 0.9);
  summary.time = change(time_ratios);
  summary.cycles = change(cycle_ratios);
  summary.to_host_gb_per_s = quantile(to_host, 0.5);
  summary.to_device_gb_per_s = quantile(to_device, 0.5);
  summary.by_sms_gb_per_s = quantile(by_sms, 0.5);
  summary.sm_clock_mhz = quantile(clocks, 0.5);
  if (summary.gpu.samples > 0) {
    summary.gpu.sm_clock_mhz /= summary.gpu.samples;
    summary.gpu.memory_clock_mhz /= summary.gpu.samples;
    summary.gpu.power_w /= summary.gpu.samples;
    summary.gpu.temperature_c /= summary.gpu.samples;
  }
  return summary;
}

std::string text(const Change& change) {
  return fmt::format("{:+.1f} ({:+.1f}..{:+.1f})", change.median_pct, change.lowest_pct,
                     change.highest_pct);
}

}  // namespace

double quantile(std::vector<double> values, double fraction) {
  HOCCL_CHECK(!values.empty(), "a quantile of nothing");
  std::ranges::sort(values);
  const double position = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], position - static_cast<double>(below));
}

std::vector<Summary> summarise(const std::vector<Condition>& conditions,
                               const std::vector<Measured>& measured) {
  const std::map<int, Typical> alone = alone_by_round(measured);
  std::vector<Summary> summaries;
  for (std::size_t index = 0; index < conditions.size(); ++index) {
    summaries.push_back(summary_of(index, measured, alone));
    summaries.back().name = conditions[index].name;
  }
  return summaries;
}

std::string table(const std::vector<Summary>& summaries, double operations) {
  std::string lines = fmt::format(
      "# {:<20} {:>5} {:>8} {:>8} {:>8} {:>22} {:>22} {:>6} {:>6} {:>6} {:>7} {:>7} {:>6} {}\n",
      "condition", "n", "p10(us)", "med(us)", "p90(us)", "slower(%) (rounds)", "cycles(%) (rounds)",
      "D2H", "H2D", "SMcopy", "SM(MHz)", "drv(MHz)", "W", "throttled by");
  for (const Summary& one : summaries) {
    lines += fmt::format(
        "  {:<20} {:>5} {:>8.1f} {:>8.1f} {:>8.1f} {:>22} {:>22} {:>6.1f} {:>6.1f} {:>6.1f} "
        "{:>7.0f} {:>8.0f} {:>6.0f} {}\n",
        one.name, one.products, one.p10_us, one.median_us, one.p90_us, text(one.time),
        text(one.cycles), one.to_host_gb_per_s, one.to_device_gb_per_s, one.by_sms_gb_per_s,
        one.sm_clock_mhz, one.gpu.sm_clock_mhz, one.gpu.power_w,
        throttle_text(one.gpu.throttle_reasons));
  }
  lines += fmt::format("# alone: {:.0f} TFLOP/s\n", operations / summaries.front().median_us / 1e6);
  return lines;
}

void write_csv(std::ostream& stream, const std::vector<Condition>& conditions,
               const std::vector<Measured>& measured) {
  stream << "round,condition,product,time_us,sm_clock_mhz,d2h_gb_per_s,h2d_gb_per_s,"
            "sm_copy_gb_per_s,driver_sm_clock_mhz,driver_memory_clock_mhz,power_w,temperature_c,"
            "throttle_reasons\n";
  for (const Measured& one : measured) {
    const GpuState gpu = one.gpu.value_or(GpuState{});
    const std::vector<double> times = times_us(one);
    const std::size_t per_clock = times.size() / one.burst.sm_clock_mhz.size();
    for (std::size_t i = 0; i < times.size(); ++i) {
      fmt::print(stream, "{},{},{},{:.2f},{:.1f},{:.2f},{:.2f},{:.2f},{:.0f},{:.0f},{:.1f},{:.0f},",
                 one.round, conditions[one.condition].name, i, times[i],
                 one.burst.sm_clock_mhz[i / per_clock], gigabytes_per_second(one.to_host),
                 gigabytes_per_second(one.to_device), gigabytes_per_second(one.by_sms),
                 gpu.sm_clock_mhz, gpu.memory_clock_mhz, gpu.power_w, gpu.temperature_c);
      fmt::print(stream, "{:#x}\n", gpu.throttle_reasons);
    }
  }
}

}  // namespace hoccl::contention
