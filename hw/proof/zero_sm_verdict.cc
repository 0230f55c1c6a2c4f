#include "hw/proof/zero_sm_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

namespace hoccl::hw {
namespace {

using engine::Bytes;
using Copies = std::array<CopyCount, kCopyDirectionCount>;

constexpr std::array kDirections = {CopyDirection::kDeviceToHost, CopyDirection::kHostToDevice,
                                    CopyDirection::kPeer, CopyDirection::kDeviceToDevice,
                                    CopyDirection::kOther};
static_assert(kDirections.size() == kCopyDirectionCount);

CopyCount sum(const CopyCount& left, const CopyCount& right) {
  if (left.copies == 0) return right;
  if (right.copies == 0) return left;
  return {.copies = left.copies + right.copies,
          .bytes = left.bytes + right.bytes,
          .smallest = std::min(left.smallest, right.smallest),
          .largest = std::max(left.largest, right.largest)};
}

void add(Copies& copies, const Activity& activity) {
  const std::int64_t count = std::max<std::int64_t>(activity.copy_count, 1);
  const Bytes mean = activity.bytes / count;
  CopyCount& total = copies[static_cast<std::size_t>(activity.direction)];
  total = sum(total, {.copies = count, .bytes = activity.bytes, .smallest = mean, .largest = mean});
}

std::string describe(const Activity& activity) {
  switch (activity.kind) {
    case ActivityKind::kKernel:
      return fmt::format("kernel {}", activity.name);
    case ActivityKind::kMemset:
      return fmt::format("memset of {} on channel {}", engine::to_string(activity.bytes),
                         to_string(activity.channel));
    case ActivityKind::kMemcpy:
      break;
  }
  const std::string what = activity.copy_count > 1
                               ? fmt::format("batch of {} copies, {} together,",
                                             activity.copy_count, engine::to_string(activity.bytes))
                               : fmt::format("copy of {}", engine::to_string(activity.bytes));
  return fmt::format("{} {} on channel {}", to_string(activity.direction), what,
                     to_string(activity.channel));
}

void remember(ZeroSmVerdict& verdict, const Activity& activity) {
  if (verdict.first_offender[0] != '\0') return;
  const std::string text = describe(activity);
  const std::size_t kept = std::min(text.size(), verdict.first_offender.size() - 1);
  std::copy_n(text.begin(), kept, verdict.first_offender.begin());
}

void judge_copy(ZeroSmVerdict& verdict, const Activity& activity) {
  if (activity.channel == Channel::kCopyEngine) {
    add(verdict.on_engines, activity);
  } else if (activity.direction != CopyDirection::kDeviceToDevice &&
             activity.bytes < verdict.smallest_dma_copy) {
    add(verdict.small, activity);
  } else {
    add(verdict.offending, activity);
    remember(verdict, activity);
  }
}

void judge_one(ZeroSmVerdict& verdict, const Activity& activity) {
  if (activity.begin_ns == 0 && activity.end_ns == 0) ++verdict.incomplete;
  switch (activity.kind) {
    case ActivityKind::kMemcpy:
      judge_copy(verdict, activity);
      return;
    case ActivityKind::kMemset:
      if (activity.channel == Channel::kCopyEngine) {
        ++verdict.memsets_on_engines;
      } else {
        ++verdict.memsets_on_sms;
        remember(verdict, activity);
      }
      return;
    case ActivityKind::kKernel:
      ++verdict.kernels;
      remember(verdict, activity);
      return;
  }
}

std::int64_t copies_in(const Copies& copies) {
  return std::accumulate(copies.begin(), copies.end(), std::int64_t{0},
                         [](std::int64_t n, const CopyCount& c) { return n + c.copies; });
}

std::string counted(std::int64_t count, std::string_view what) {
  if (count == 0) return fmt::format("no {}", what);
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// "512 D2H of 2MiB, 3 H2D of 64KiB to 2MiB"
std::string list_of(const Copies& copies) {
  std::vector<std::string> parts;
  for (const CopyDirection direction : kDirections) {
    const CopyCount& count = copies[static_cast<std::size_t>(direction)];
    if (count.copies == 0) continue;
    std::string sizes = engine::to_string(count.smallest);
    if (count.largest != count.smallest) sizes += " to " + engine::to_string(count.largest);
    parts.push_back(fmt::format("{} {} of {}", count.copies, to_string(direction), sizes));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

const char* to_string(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kDeviceToHost:
      return "D2H";
    case CopyDirection::kHostToDevice:
      return "H2D";
    case CopyDirection::kPeer:
      return "P2P";
    case CopyDirection::kDeviceToDevice:
      return "D2D";
    case CopyDirection::kOther:
      break;
  }
  return "other";
}

const char* to_string(Channel channel) {
  switch (channel) {
    case Channel::kCompute:
      return "compute";
    case Channel::kCopyEngine:
      return "copy engine";
    case Channel::kOther:
      break;
  }
  return "other";
}

bool ZeroSmVerdict::holds() const {
  return copies_in(on_engines) > 0 && copies_in(offending) == 0 && kernels == 0 &&
         memsets_on_sms == 0 && incomplete == 0 && lost == 0;
}

ZeroSmVerdict judge(std::span<const Activity> activities, std::int64_t lost,
                    Bytes smallest_dma_copy) {
  ZeroSmVerdict verdict;
  verdict.smallest_dma_copy = smallest_dma_copy;
  verdict.lost = lost;
  for (const Activity& activity : activities) judge_one(verdict, activity);
  return verdict;
}

ZeroSmVerdict merge(const ZeroSmVerdict& left, const ZeroSmVerdict& right) {
  ZeroSmVerdict both = left;
  for (std::size_t i = 0; i < kCopyDirectionCount; ++i) {
    both.on_engines[i] = sum(left.on_engines[i], right.on_engines[i]);
    both.small[i] = sum(left.small[i], right.small[i]);
    both.offending[i] = sum(left.offending[i], right.offending[i]);
  }
  both.smallest_dma_copy = std::max(left.smallest_dma_copy, right.smallest_dma_copy);
  both.kernels += right.kernels;
  both.memsets_on_sms += right.memsets_on_sms;
  both.memsets_on_engines += right.memsets_on_engines;
  both.incomplete += right.incomplete;
  both.lost += right.lost;
  if (left.first_offender[0] == '\0') both.first_offender = right.first_offender;
  return both;
}

std::string to_string(const ZeroSmVerdict& verdict) {
  std::vector<std::string> parts;
  if (copies_in(verdict.on_engines) == 0) {
    parts.push_back("no copy on a copy engine was recorded");
  } else {
    parts.push_back(fmt::format("copies on copy engines: {}", list_of(verdict.on_engines)));
  }
  if (copies_in(verdict.offending) > 0) {
    parts.push_back(fmt::format("not on copy engines: {}", list_of(verdict.offending)));
  }
  parts.push_back(counted(verdict.kernels, "kernel"));
  parts.push_back(counted(verdict.memsets_on_sms, "memset"));
  if (verdict.memsets_on_engines > 0) {
    parts.push_back(counted(verdict.memsets_on_engines, "memset") + " on copy engines");
  }
  if (verdict.incomplete > 0) {
    parts.push_back(counted(verdict.incomplete, "record") + " incomplete");
  }
  if (verdict.lost > 0) parts.push_back(counted(verdict.lost, "record") + " lost");
  std::string text =
      fmt::format("# zero SM: {} - {}\n", verdict.holds() ? "yes" : "no", fmt::join(parts, "; "));
  if (verdict.first_offender[0] != '\0') {
    text += fmt::format("# zero SM: the first of them: {}\n", verdict.first_offender.data());
  }
  if (copies_in(verdict.small) > 0) {
    text +=
        fmt::format("# zero SM: apart, below the {} from which the driver uses a copy engine: {}\n",
                    engine::to_string(verdict.smallest_dma_copy), list_of(verdict.small));
  }
  return text;
}

}  // namespace hoccl::hw
