// The conformance suites on a real GPU: all GPUs of the topology are the one that is there, so
// copies between them run on its SMs, which the suites do not mind. Threads and processes are to be
// run separately (ctest does): CUDA does not survive a fork.

#include <algorithm>

#include "hw/device/gpu_files.h"
#include "tests/cuda/gpu.h"
#include "tests/fabric/conformance.h"
#include "tests/hw/job/hw_job.h"

namespace hoccl::engine {

// Without a GPU there are no instances.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PortConformance);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProxyConformance);

namespace {

using hw::Living;

FabricFactory on_gpu(const std::string& name, int ranks, Living living) {
  FabricFactory factory;
  factory.name = name;
  factory.ranks = ranks;
  factory.moves_user_buffers = false;
  const auto settings_for = [living](const FabricSettings& settings) {
    // What CUDA opens for itself when it starts is not left over from the job.
    if (living == Living::kThread) {
      EXPECT_EQ(hw::why_no_gpu(), "");
    }
    hw::JobSettings result = hw::job_settings(settings, hw::LinkKind::kLoopbackMap);
    result.options.copy = hw::CopyKind::kCuda;
    result.options.devices.assign(static_cast<std::size_t>(result.topology.device_count()), 0);
    return result;
  };
  factory.make = [=](const FabricSettings& settings) {
    hw::JobSettings job = settings_for(settings);
    job.proxies = false;
    return std::make_unique<hw::HwFabricUnderTest>(std::move(job), living);
  };
  factory.make_job = [=](const FabricSettings& settings, const PipelineOptions& pipeline,
                         const CompileOptions& compile) {
    hw::JobSettings job = settings_for(settings);
    job.pipeline = pipeline;
    // The ranks of one process have 32 queues of the hardware together.
    job.pipeline.streams = 1;
    // So that a stall is told about before the runner loses patience.
    job.pipeline.timeout = std::min(job.pipeline.timeout, Seconds(8.0));
    job.compile = compile;
    return std::make_unique<hw::HwJob>(std::move(job), living);
  };
  return factory;
}

std::vector<FabricFactory> if_there_is_one(std::vector<FabricFactory> factories) {
  // Its file tells: asking CUDA would start it before the ranks are forked.
  if (hw::gpu_files().empty()) factories.clear();
  return factories;
}

const auto kThreads = testing::ValuesIn(if_there_is_one({on_gpu("Threads", 4, Living::kThread)}));
const auto kProcesses = testing::ValuesIn(if_there_is_one(
    {on_gpu("Processes2", 2, Living::kProcess), on_gpu("Processes4", 4, Living::kProcess)}));

INSTANTIATE_TEST_SUITE_P(GpuThreads, PortConformance, kThreads, factory_name);
INSTANTIATE_TEST_SUITE_P(GpuThreads, ProxyConformance, kThreads, factory_name);
INSTANTIATE_TEST_SUITE_P(GpuProcesses, PortConformance, kProcesses, factory_name);
INSTANTIATE_TEST_SUITE_P(GpuProcesses, ProxyConformance, kProcesses, factory_name);

TEST(GpuConformance, HasAGpu) { HOCCL_NEEDS_GPU(); }

}  // namespace
}  // namespace hoccl::engine
