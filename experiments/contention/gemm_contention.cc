// How much a matrix product slows down beside copies by copy engines, the pipeline, or copies by
// SMs. See README.md.

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/config_error.h"
#include "engine/trace/atomic_file.h"
#include "experiments/contention/conditions.h"
#include "experiments/contention/gemm.h"
#include "experiments/contention/gemm_loop.h"
#include "experiments/contention/gpu_monitor.h"
#include "experiments/contention/kernels.h"
#include "experiments/contention/load_memory_raii.h"
#include "experiments/contention/measurement.h"
#include "experiments/contention/pipeline_load.h"
#include "experiments/contention/report.h"
#include "hw/cuda/cuda_devices.h"
#include "hw/cuda/cuda_raii.h"

namespace hoccl::contention {
namespace {

using engine::ConfigError;
using engine::Seconds;

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

struct Options {
  int order = 8192;
  int rounds = 20;
  int groups = 3;
  double warm_up_s = 2;
  std::uint64_t seed = 1;
  std::string data = "random";
  std::vector<std::string> only;
  bool no_nvml = false;
  bool list = false;
  bool only_gemm = false;
  double seconds = 10;
  std::string csv;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("--order", options.order, "of the square bf16 matrices")
      ->check(CLI::Range(256, 32768))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "in each, every condition is measured once")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--groups", options.groups, "of ten products, per condition and round")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--data", options.data, "random or zeros (which take less power)")
      ->check(CLI::IsMember({"random", "zeros"}))
      ->capture_default_str();
  app.add_option("--conditions", options.only, "only these (and alone), by name; see --list")
      ->delimiter(',');
  app.add_flag("--list", options.list, "print the conditions and end");
  app.add_option("--seed", options.seed, "of the order within each round")->capture_default_str();
  app.add_option("--warm-up", options.warm_up_s, "seconds of products before")
      ->check(CLI::Range(0.0, 600.0))
      ->capture_default_str();
  app.add_flag("--no-nvml", options.no_nvml, "do not ask the driver for clocks and power");
  app.add_option("--csv", options.csv, "file for a row per product");
  app.add_flag("--only-gemm", options.only_gemm, "products alone, for --seconds");
  app.add_option("--seconds", options.seconds, "of --only-gemm")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
}

std::vector<Condition> chosen(std::vector<Condition> conditions,
                              const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::none_of(conditions, [&](const Condition& c) { return c.name == name; })) {
      throw ConfigError(fmt::format("--conditions: '{}': expected names that --list prints", name));
    }
  }
  if (names.empty()) return conditions;
  std::erase_if(conditions, [&](const Condition& condition) {
    return condition.name != kAlone && std::ranges::find(names, condition.name) == names.end();
  });
  return conditions;
}

/// Random numbers on both sides: what the bits are decides how much power a copy takes, too.
std::unique_ptr<LoadMemory> filled_memory() {
  auto memory = std::make_unique<LoadMemory>(kLoadMemory);
  const hw::CudaStream stream;
  hw::require_cuda(cudaDeviceSynchronize(), "zero the memory");
  enqueue_random_fill(memory->device_source.data(), memory->device_source.size() / 2, 3, stream);
  hw::require_cuda(cudaMemcpyAsync(memory->host.data(), memory->device_source.data(),
                                   memory->host.size(), cudaMemcpyDefault, stream.get()),
                   "fill the host's memory");
  hw::require_cuda(cudaStreamSynchronize(stream.get()), "fill the memory");
  return memory;
}

void warm_up(Gemm& gemm, double seconds) {
  const auto end = std::chrono::steady_clock::now() + Seconds(seconds);
  while (std::chrono::steady_clock::now() < end) (void)gemm.run(3);
}

bool has_pipeline(const std::vector<Condition>& conditions) {
  return std::ranges::any_of(conditions, [](const Condition& c) { return c.name == kPipeline; });
}

LoadSetup set_up(const std::vector<Condition>& conditions, const LoadMemory& memory) {
  LoadSetup setup{.memory = memory, .pipeline = nullptr};
  // Not where it is not asked for: its threads, too, would be something beside the products.
  if (has_pipeline(conditions)) {
    setup.pipeline = pipeline_load({memory.host.data(), memory.host.size()});
  }
  return setup;
}

/// In both directions together.
engine::BytesPerSecond rate_beside(const std::string& name, Gemm& gemm, int groups,
                                   const LoadSetup& setup) {
  for (const Condition& condition : all_conditions({})) {
    if (condition.name != name) continue;
    const Measured measured = measure(condition, gemm, groups, setup, nullptr);
    return measured.to_host + measured.to_device;
  }
  return {};
}

/// What the copies by SMs have to match, and what the pipeline moves, which is close but not equal.
engine::BytesPerSecond print_rates(Gemm& gemm, int groups, const LoadSetup& setup) {
  const engine::BytesPerSecond reference = rate_beside(kReference, gemm, groups, setup);
  fmt::print(
      "# copies by SMs run at {:.1f} GB/s, as much as {} moves in both directions together\n",
      engine::gigabytes_per_second(reference), kReference);
  if (setup.pipeline != nullptr) {
    const engine::BytesPerSecond rate = rate_beside(kPipeline, gemm, groups, setup);
    fmt::print("# {} moves {:.1f} GB/s in both directions together, {:.0f} % of that\n", kPipeline,
               engine::gigabytes_per_second(rate), 100 * rate.value() / reference.value());
  }
  return reference;
}

void compare(const Options& options, Gemm& gemm, std::ostream* csv) {
  const std::unique_ptr<LoadMemory> memory = filled_memory();
  std::optional<GpuMonitor> monitor;
  if (!options.no_nvml) {
    monitor.emplace();
    if (!monitor->problem().empty()) {
      fmt::print("# no clocks and power from the driver: {}\n", monitor->problem());
    }
  }
  const LoadSetup setup = set_up(chosen(all_conditions({}), options.only), *memory);
  const engine::BytesPerSecond sm_rate = print_rates(gemm, options.groups, setup);
  const std::vector<Condition> conditions = chosen(all_conditions(sm_rate), options.only);
  const std::vector<Measured> measured =
      measure_rounds(conditions, gemm, options.groups, options.rounds, options.seed, setup,
                     monitor ? &*monitor : nullptr);
  std::fputs(table(summarise(conditions, measured), gemm.operations()).c_str(), stdout);
  if (csv != nullptr) write_csv(*csv, conditions, measured);
}

void print_head(const Options& options, const hw::CudaGpu& gpu) {
  const hw::CudaVersions versions = hw::cuda_versions();
  fmt::print("# {}, driver {}, CUDA {}; {}^3 bf16 on {} data; {} rounds of {} products, seed {}\n",
             gpu.name, versions.driver, versions.runtime, options.order, options.data,
             options.rounds, options.groups * 10, options.seed);
}

void run(const Options& options) {
  if (options.list) {
    for (const Condition& condition : all_conditions({})) {
      fmt::print("{:<20} {}\n", condition.name, condition.what);
    }
    return;
  }
  (void)chosen(all_conditions({}), options.only);  // before minutes of work
  // cuBLAS has far more kernels than are used here; ours are launched first while the GPU is idle.
  ::setenv("CUDA_MODULE_LOADING", "LAZY", /*replace=*/0);
  // A stream for every hardware queue: a copy must not wait behind another stream's products.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", /*replace=*/0);
  const std::vector<hw::CudaGpu> gpus = hw::cuda_gpus();
  if (gpus.empty()) throw ConfigError("no GPU here: no driver, or it shows none");
  std::optional<engine::AtomicFile> csv;
  if (!options.csv.empty()) csv.emplace(options.csv);
  hw::use_cuda_device(0);
  print_head(options, gpus.front());
  Gemm gemm(options.order, options.data == "zeros" ? MatrixData::kZeros : MatrixData::kRandom);
  warm_up(gemm, options.warm_up_s);
  std::ostream* const stream = csv ? &csv->stream() : nullptr;
  if (options.only_gemm) {
    loop_products(gemm, Seconds(options.seconds), stream);
  } else {
    compare(options, gemm, stream);
  }
  if (csv) csv->commit();
}

}  // namespace
}  // namespace hoccl::contention

int main(int argc, char** argv) {
  using namespace hoccl::contention;
  Options options;
  CLI::App app("Matrix products beside copies by copy engines, or by SMs", "gemm_contention");
  add_options(app, options);
  try {
    app.parse(argc, argv);
    run(options);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  } catch (const hoccl::engine::ConfigError& error) {
    std::fprintf(stderr, "gemm_contention: %s\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gemm_contention: %s\n", error.what());
    return kFailed;
  }
}
