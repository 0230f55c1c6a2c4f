#include "hw/calibrate/proxy_bench.h"

#include <gtest/gtest.h>

#include "hw/calibrate/what_is_measured.h"

namespace hoccl::hw {
namespace {

using engine::Seconds;

/// Copies of the host: what a proxy does is the same.
TEST(ProxyBench, FindsWhatAProxysOwnWorkCosts) {
  Samples samples;
  measure_proxies(CopyKind::kHost, 0, samples);
  Seconds sum{0.0};
  for (const char* name : kWorkNames) {
    const Samples::Series* series = samples.find({kProxyWork, name});
    ASSERT_NE(series, nullptr) << name;
    sum += summarise(*series).median;
  }
  EXPECT_GT(sum, Seconds(0.0));
  EXPECT_NE(samples.find({kProxyWork, kIdleStep}), nullptr);
  for (const auto& [key, series] : samples.series()) {
    EXPECT_NE(key.measurement, kCallInUse) << "of a driver that there is not: " << key.subject;
  }
  EXPECT_NE(samples.find({kLaunchCall, "sendrecv", 64_KiB, 2}), nullptr);
}

}  // namespace
}  // namespace hoccl::hw
