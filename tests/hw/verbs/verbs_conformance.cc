// The conformance suites on RDMA between two devices of one machine: rxe0 plays all NICs of node 0,
// rxe1 those of node 1.

#include "tests/fabric/conformance.h"
#include "tests/hw/job/hw_job.h"

namespace hoccl::engine {
namespace {

using hw::Living;

FabricFactory verbs(const std::string& name, int ranks, Living living) {
  FabricFactory factory;
  factory.name = name;
  factory.ranks = ranks;
  const auto settings_for = [](const FabricSettings& settings) {
    hw::JobSettings result = hw::job_settings(settings, hw::LinkKind::kVerbs);
    result.options.verbs.devices = "rxe0/rxe1";
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

const auto kAll =
    testing::Values(verbs("Threads2", 2, Living::kThread), verbs("Processes2", 2, Living::kProcess),
                    verbs("Processes4", 4, Living::kProcess));

INSTANTIATE_TEST_SUITE_P(Verbs, PortConformance, kAll, factory_name);
INSTANTIATE_TEST_SUITE_P(Verbs, ProxyConformance, kAll, factory_name);

}  // namespace
}  // namespace hoccl::engine
