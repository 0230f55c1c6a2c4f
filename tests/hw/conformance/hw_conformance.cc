// The conformance suites on HwFabric: ranks as threads of one process, and as processes.

#include "tests/fabric/conformance.h"
#include "tests/fabric/scenario.h"
#include "tests/hw/job/hw_job.h"

namespace hoccl::engine {
namespace {

using hw::LinkKind;
using hw::Living;

/// A topology without a wire can only hand slots over.
LinkKind link_for(const Topology& topology, LinkKind wanted) {
  return topology.wire() == WireKind::kMap ? LinkKind::kLoopbackMap : wanted;
}

FabricFactory real(const std::string& name, int ranks, Living living, LinkKind link) {
  FabricFactory factory;
  factory.name = name;
  factory.ranks = ranks;
  factory.moves_user_buffers = link != LinkKind::kLoopbackMap;
  const auto settings_for = [link](const FabricSettings& settings) {
    hw::JobSettings result = hw::job_settings(settings, link);
    result.options.link = link_for(result.topology, link);
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
    job.compile = compile;
    return std::make_unique<hw::HwJob>(std::move(job), living);
  };
  return factory;
}

const auto kThreads =
    testing::Values(real("Threads", 8, Living::kThread, LinkKind::kLoopback),
                    real("ThreadsMap", 8, Living::kThread, LinkKind::kLoopbackMap));
const auto kProcesses =
    testing::Values(real("Processes2", 2, Living::kProcess, LinkKind::kLoopback),
                    real("Processes2Map", 2, Living::kProcess, LinkKind::kLoopbackMap),
                    real("Processes4", 4, Living::kProcess, LinkKind::kLoopback),
                    real("Processes4Map", 4, Living::kProcess, LinkKind::kLoopbackMap),
                    real("Processes8", 8, Living::kProcess, LinkKind::kLoopback),
                    real("Processes8Map", 8, Living::kProcess, LinkKind::kLoopbackMap));

INSTANTIATE_TEST_SUITE_P(HwThreads, PortConformance, kThreads, factory_name);
INSTANTIATE_TEST_SUITE_P(HwThreads, ProxyConformance, kThreads, factory_name);
INSTANTIATE_TEST_SUITE_P(HwProcesses, PortConformance, kProcesses, factory_name);
INSTANTIATE_TEST_SUITE_P(HwProcesses, ProxyConformance, kProcesses, factory_name);

/// Every rank of two whole nodes sends to the next, at once.
void send_around(const FabricFactory& factory) {
  FabricSettings settings;
  settings.topology = "h800-2x8";
  settings.ranks = 16;
  Scenario scenario(factory, settings, small_chunks());
  for (int i = 0; i < settings.ranks; ++i) {
    // Sends and receives on streams of their own, or no rank but the first could start.
    scenario.transfer(Rank(i), Rank((i + 1) % settings.ranks), Bytes(100'001), 0, 1);
  }
  scenario.finish();
}

TEST(SixteenProcesses, SendAround) {
  send_around(real("Processes16", 16, Living::kProcess, LinkKind::kLoopback));
}

TEST(SixteenProcesses, HandAround) {
  send_around(real("Processes16Map", 16, Living::kProcess, LinkKind::kLoopbackMap));
}

}  // namespace
}  // namespace hoccl::engine
