#include "experiments/contention/conditions.h"

#include <fmt/format.h>

#include "engine/base/check.h"

namespace hoccl::contention {
namespace {

using engine::Bytes;
using engine::BytesPerSecond;
using namespace engine::literals;

// Large enough that nothing comes back while it is in a cache.
constexpr Bytes kStreamed = kLoadMemory / 2;
constexpr std::int64_t kSlots = 16;  // of the staged pipeline; 8 or more make no difference

CopyLoadOptions to_host(Bytes chunk) {
  return {.to_host = true, .chunk = chunk, .host_region = kStreamed, .device_region = kStreamed};
}

CopyLoadOptions to_device(Bytes chunk) {
  return {.to_device = true, .chunk = chunk, .host_region = kStreamed, .device_region = kStreamed};
}

CopyLoadOptions staged(Bytes chunk) {
  return {.to_host = true,
          .to_device = true,
          .staged = true,
          .chunk = chunk,
          .host_region = chunk * kSlots,
          .device_region = kStreamed};
}

void add_questions(std::vector<Condition>& conditions, BytesPerSecond sm_rate) {
  conditions.push_back({kAlone, "nothing beside", {}});
  conditions.push_back({"alone-again", "nothing beside: the noise of the comparison", {}});
  conditions.push_back({"d2h-2M", "D2H only", to_host(2_MiB)});
  conditions.push_back({"h2d-2M", "H2D only", to_device(2_MiB)});
  conditions.push_back({kReference, "D2H, slot, H2D", staged(2_MiB)});
  conditions.push_back({"d2h-16M", "D2H only", to_host(16_MiB)});
  conditions.push_back({"h2d-16M", "H2D only", to_device(16_MiB)});
  conditions.push_back({"both-16M", "D2H, slot, H2D", staged(16_MiB)});
  conditions.push_back(
      {kPipeline, "the project's own: 64 MiB messages in chunks of 2 MiB", PipelineLoadOptions{}});
  for (const int multiprocessors : {4, 8, 16}) {
    conditions.push_back(
        {fmt::format("sm-{}", multiprocessors),
         fmt::format("a kernel on {} SMs copies at the rate of {}", multiprocessors, kReference),
         SmCopyLoadOptions{.multiprocessors = multiprocessors, .rate = sm_rate}});
  }
}

void add_explanations(std::vector<Condition>& conditions) {
  conditions.push_back(
      {"poll-only", "no copy: the thread that would copy asks CUDA idly",
       CopyLoadOptions{.chunk = 2_MiB, .host_region = kStreamed, .device_region = kStreamed}});
  conditions.push_back({"d2h-256K", "D2H in more, smaller copies", to_host(256_KiB)});
  CopyLoadOptions options = to_host(2_MiB);
  options.batch = 8;
  conditions.push_back({"d2h-2M-batch8", "D2H in batches", options});
  options = to_host(2_MiB);
  options.streams = 2;
  conditions.push_back({"d2h-2M-2streams", "D2H from two streams", options});
  options = to_host(2_MiB);
  options.limit = 25_GBps;
  conditions.push_back({"d2h-2M-25GBps", "D2H at less than half the rate", options});
  options.limit = 49_GBps;
  conditions.push_back({"d2h-2M-49GBps", "D2H at its rate in both-2M", options});
  options = to_host(2_MiB);
  options.host_region = 4_MiB;
  conditions.push_back({"d2h-2M-hostreuse", "D2H into the same 4 MiB", options});
  options = to_host(2_MiB);
  options.device_region = 4_MiB;
  conditions.push_back({"d2h-2M-l2", "D2H of the same 4 MiB, which stay in L2", options});
  options.host_region = 4_MiB;
  conditions.push_back({"d2h-2M-l2-hostreuse", "both of these", options});
  options = to_device(2_MiB);
  options.device_region = 4_MiB;
  conditions.push_back({"h2d-2M-l2", "H2D to the same 4 MiB, which stay in L2", options});
  options = staged(2_MiB);
  options.staged = false;
  options.host_region = kStreamed;
  conditions.push_back({"both-2M-apart", "D2H and H2D that do not wait for each other", options});
}

}  // namespace

std::vector<Condition> all_conditions(BytesPerSecond sm_rate) {
  std::vector<Condition> conditions;
  add_questions(conditions, sm_rate);
  add_explanations(conditions);
  return conditions;
}

std::shared_ptr<Load> load_of(const Condition& condition, const LoadSetup& setup) {
  if (const auto* copies = std::get_if<CopyLoadOptions>(&condition.load)) {
    return copy_load(*copies, setup.memory);
  }
  if (const auto* kernel = std::get_if<SmCopyLoadOptions>(&condition.load)) {
    return sm_copy_load(*kernel, setup.memory);
  }
  if (std::holds_alternative<PipelineLoadOptions>(condition.load)) {
    HOCCL_CHECK(setup.pipeline != nullptr, "{} is not set up", condition.name);
    return setup.pipeline;
  }
  return nullptr;
}

}  // namespace hoccl::contention
