#include "experiments/hoccl/registration_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <set>

namespace hoccl::cli {
namespace {

using engine::Bytes;
using engine::microseconds;
using engine::Seconds;

constexpr std::array kKinds = {hw::kFirstTouch, hw::kAgain, hw::kDeregister, hw::kCached};
/// What the table calls them.
constexpr std::array kTitles = {"first(us)", "again(us)", "deregister(us)", "cached(us)"};

std::set<Bytes> sizes_of(const hw::Samples& samples) {
  std::set<Bytes> sizes;
  for (const auto& [key, series] : samples.series()) sizes.insert(key.size);
  return sizes;
}

/// The one series of a size.
const hw::Samples::Series* find(const hw::Samples& samples, const char* what, Bytes size) {
  for (const auto& [key, series] : samples.series()) {
    if (key.measurement == what && key.size == size) return &series;
  }
  return nullptr;
}

/// Median, and in percent of it how far slowest and fastest are apart.
std::string cells(const hw::Samples::Series* series) {
  if (series == nullptr) return fmt::format(" {:>14} {:>9}", "-", "-");
  const hw::Summary summary = hw::summarise(*series);
  const std::string spread =
      summary.count < 2
          ? "-"
          : fmt::format("{:.0f}", 100.0 * (summary.max - summary.min) / summary.median);
  return fmt::format(" {:>14.2f} {:>9}", microseconds(summary.median), spread);
}

}  // namespace

void print_registrations(const RegistrationHead& head, const hw::Samples& samples) {
  const hw::RegistrationMachine& machine = head.machine;
  fmt::print("# {}\n# measured: {}; {}; {}\n", head.command, machine.device, machine.host,
             machine.date);
  for (const std::string& line : machine.emulated) fmt::print("# emulated: {}\n", line);
  fmt::print(
      "# first: private memory that nobody has touched; again: the same memory, with its pages; "
      "huge pages: {}\n"
      "# cached: a further buffer of a registered allocation, until its thread has found that\n"
      "# time: median of {} round{}; spread: (slowest - fastest) / median\n",
      machine.huge_pages, head.rounds, head.rounds == 1 ? "" : "s");
  fmt::print("#{:>11}", "size(B)");
  for (const char* title : kTitles) fmt::print(" {:>14} {:>9}", title, "spread(%)");
  fmt::print(" {:>5}\n", "n");
  for (const Bytes size : sizes_of(samples)) {
    fmt::print("{:>12}", size.count());
    for (const char* what : kKinds) fmt::print("{}", cells(find(samples, what, size)));
    fmt::print(" {:>5}\n", head.rounds);
  }
}

void write_registrations(std::ostream& stream, const RegistrationHead& head,
                         const hw::Samples& samples) {
  const hw::RegistrationMachine& machine = head.machine;
  fmt::print(stream, "# command: {}\n# device: {}\n# host: {}\n# huge pages: {}\n# date: {}\n",
             head.command, machine.device, machine.host, machine.huge_pages, machine.date);
  for (const std::string& line : machine.emulated) fmt::print(stream, "# emulated: {}\n", line);
  fmt::print(stream, "size_bytes,what,round,time_us\n");
  for (const Bytes size : sizes_of(samples)) {
    for (const char* what : kKinds) {
      const hw::Samples::Series* series = find(samples, what, size);
      if (series == nullptr) continue;
      for (std::size_t round = 0; round < series->size(); ++round) {
        fmt::print(stream, "{},{},{},{:.3f}\n", size.count(), what, round,
                   microseconds((*series)[round]));
      }
    }
  }
}

}  // namespace hoccl::cli
