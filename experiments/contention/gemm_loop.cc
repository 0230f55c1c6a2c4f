#include "experiments/contention/gemm_loop.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "experiments/contention/report.h"

namespace hoccl::contention {
namespace {

using engine::Seconds;

/// Of the computer's clock, so that another process's rows can be laid beside.
std::int64_t unix_time_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void print_line(const char* what, const std::vector<double>& times_us, const Gemm& gemm) {
  if (times_us.empty()) return;
  const double median = quantile(times_us, 0.5);
  fmt::print("  {:<8} {:>6} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f} {:>8.0f}\n", what, times_us.size(),
             quantile(times_us, 0), quantile(times_us, 0.1), median, quantile(times_us, 0.9),
             gemm.operations() / median / 1e6);
  std::fflush(stdout);
}

}  // namespace

void loop_products(Gemm& gemm, Seconds duration, std::ostream* csv) {
  if (csv != nullptr) *csv << "product,seen_at_unix_us,time_us\n";
  fmt::print("# second        n   min(us)   p10(us)   med(us)   p90(us) TFLOP/s\n");
  std::vector<double> all;
  std::vector<double> recent;
  int second = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    const Seconds elapsed = std::chrono::steady_clock::now() - begin;
    if (elapsed >= Seconds(second + 1)) {
      print_line(fmt::format("{}", second).c_str(), recent, gemm);
      recent.clear();
      ++second;
    }
    if (elapsed >= duration) break;
    const double time_us = engine::microseconds(gemm.enqueue_one());
    if (time_us == 0) continue;  // the first ones are only enqueued
    if (csv != nullptr) fmt::print(*csv, "{},{},{:.2f}\n", all.size(), unix_time_us(), time_us);
    all.push_back(time_us);
    recent.push_back(time_us);
  }
  print_line("all", all, gemm);
}

}  // namespace hoccl::contention
