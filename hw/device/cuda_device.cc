#include "hw/device/cuda_device.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/config_error.h"
#include "hw/copy/cuda_copy_engine.h"
#include "hw/cuda/cuda_devices.h"
#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/driver_raii.h"
#include "hw/device/cuda_block.h"
#include "hw/proof/activity_recorder.h"
#include "hw/stream/cuda_streams.h"

namespace hoccl::hw {

using engine::ConfigError;

namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(const HwOptions& options, CudaGpu gpu) : options_(options), gpu_(std::move(gpu)) {
    use();
  }

  [[nodiscard]] std::string description() const override {
    const CudaVersions versions = cuda_versions();
    return fmt::format("{}, driver {}, CUDA {}", gpu_.name, versions.driver, versions.runtime);
  }
  std::shared_ptr<MemoryBlock> allocate(const std::string& /*name*/, engine::Bytes size) override {
    use();
    return allocate_cuda_block(size);
  }
  std::shared_ptr<MemoryBlock> find(std::span<const std::byte> memory) override {
    use();
    return find_cuda_block(memory);
  }
  std::shared_ptr<MemoryBlock> attach(const BlockName& name, FileDescriptor /*none*/) override {
    use();
    return attach_cuda_block(name);
  }
  std::shared_ptr<const void> pin(std::span<std::byte> memory) override {
    use();
    return pin_for_cuda(memory);
  }
  [[nodiscard]] bool has_own_memory() const override { return true; }
  void read(std::span<std::byte> to, const std::byte* from) override {
    copy(to.data(), from, to.size(), "read from the GPU");
  }
  void write(std::byte* to, std::span<const std::byte> from) override {
    copy(to, from.data(), from.size(), "write to the GPU");
  }
  void start_recording() override {
    use();
    ActivityRecorder::instance().start();
  }
  DmaBufExport dma_buf_export(std::span<const std::byte> memory) override {
    use();
    cudaPointerAttributes attributes{};
    const bool is_known = cudaPointerGetAttributes(&attributes, memory.data()) == cudaSuccess;
    if (!is_known || attributes.type != cudaMemoryTypeDevice) return {};
    return [this](std::span<std::byte> range) {
      use();
      // Only whole pages of the host are exported (3 MiB + 100 B was refused, driver 580.159); an
      // allocation of the GPU goes on to the end of its last one.
      const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
      const std::size_t size = (range.size() + page - 1) / page * page;
      int descriptor = -1;
      const CUresult result = CudaDriver::get().handle_for_range(
          &descriptor, reinterpret_cast<CUdeviceptr>(range.data()), size,
          CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
      return result == CUDA_SUCCESS ? FileDescriptor(descriptor) : FileDescriptor();
    };
  }
  /// On a Hopper they are ordered for that GPU alone (attribute 100, "owner"; measured), but slots
  /// are read by others. A completion does not say when they are seen there.
  void make_rdma_writes_visible() override {
    use();
    if (writes_are_ordered_for_all()) return;
    require_driver(
        CudaDriver::get().flush_rdma_writes(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
                                            CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES),
        "flush what NICs have written");
  }
  ZeroSmVerdict stop_recording() override {
    use();
    return judge(ActivityRecorder::instance().stop());
  }
  std::unique_ptr<CopyEngine> make_copy_engine(std::function<void()> /*wake*/,
                                               LegTrace& trace) override {
    use();
    return std::make_unique<CudaCopyEngine>(gpu_.ordinal, options_.strict, trace);
  }
  std::unique_ptr<Streams> make_streams(std::function<void(engine::GateReached)> reached) override {
    use();
    return std::make_unique<CudaStreams>(gpu_.ordinal, options_.gates, std::move(reached));
  }

 private:
  void use() const { use_cuda_device(gpu_.ordinal); }
  [[nodiscard]] bool writes_are_ordered_for_all() {
    if (!write_ordering_) {
      int value = 0;
      require_cuda(
          cudaDeviceGetAttribute(&value, cudaDevAttrGPUDirectRDMAWritesOrdering, gpu_.ordinal),
          "ask the GPU how it orders NICs' writes");
      write_ordering_ = value;
    }
    return *write_ordering_ >= cudaGPUDirectRDMAWritesOrderingAllDevices;
  }
  /// On a stream of its own, so that it waits for no other work.
  void copy(void* to, const void* from, std::size_t size, const char* what) {
    use();
    const CudaStream stream;
    require_cuda(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream.get()), what);
    require_cuda(cudaStreamSynchronize(stream.get()), what);
  }

  const HwOptions options_;
  const CudaGpu gpu_;
  std::optional<int> write_ordering_;  ///< of the polling thread
};

/// The physical GPUs that are on this host, in ascending order: all of the topology, or where RDMA
/// joins hosts those of the rank's node.
std::vector<int> physical_here(const HwOptions& options, const engine::Topology& topology,
                               engine::Rank rank) {
  std::set<int> here;
  for (int i = 0; i < topology.gpu_count(); ++i) {
    const engine::Gpu& gpu = topology.gpu(engine::GpuId(i));
    if (options.link != LinkKind::kVerbs || gpu.node == topology.node_of(rank)) {
      here.insert(gpu.physical);
    }
  }
  return {here.begin(), here.end()};
}

/// CUDA's number of each physical GPU of this host.
std::vector<int> ordinals(const HwOptions& options, const engine::Topology& topology, int wanted,
                          int gpus) {
  if (!options.devices.empty() && std::ssize(options.devices) != wanted) {
    throw ConfigError(
        fmt::format("devices: {} numbers; expected {}, one for each GPU of topology '{}'",
                    options.devices.size(), wanted, topology.name()));
  }
  std::vector<int> result = options.devices;
  for (int i = 0; result.size() < static_cast<std::size_t>(wanted); ++i) result.push_back(i);
  if (const int highest = std::ranges::max(result); highest >= gpus) {
    throw ConfigError(
        fmt::format("topology '{}': needs GPU {}, this machine has {}; expected h200-1x1, whose "
                    "ranks share one",
                    topology.name(), highest, gpus));
  }
  if (options.strict && std::set(result.begin(), result.end()).size() < result.size()) {
    throw ConfigError(
        "devices: a GPU twice; expected each once in strict mode, because copies within a GPU run "
        "on "
        "its SMs");
  }
  return result;
}

/// So that ranks of one process can copy between their GPUs; what processes exchange by IPC comes
/// with it.
void enable_peers(const std::vector<int>& ordinals) {
  for (const int from : ordinals) {
    for (const int to : ordinals) {
      int possible = 0;
      if (from == to || cudaDeviceCanAccessPeer(&possible, from, to) != cudaSuccess) continue;
      use_cuda_device(from);
      if (possible != 0) cudaDeviceEnablePeerAccess(to, 0);
      cudaGetLastError();  // it is enabled already
    }
  }
}

}  // namespace

std::unique_ptr<Device> make_cuda_device(const HwOptions& options, const engine::Topology& topology,
                                         engine::Rank rank) {
  const std::vector<CudaGpu> gpus = cuda_gpus();
  if (gpus.empty()) {
    throw ConfigError("copy = 'cuda': CUDA finds no GPU or no driver here; expected host");
  }
  const std::vector<int> physical = physical_here(options, topology, rank);
  const std::vector<int> own =
      ordinals(options, topology, static_cast<int>(physical.size()), static_cast<int>(gpus.size()));
  enable_peers(own);
  const auto place =
      std::ranges::find(physical, topology.gpu(topology.gpu_of(rank)).physical) - physical.begin();
  const CudaGpu& gpu = gpus.at(static_cast<std::size_t>(own.at(static_cast<std::size_t>(place))));
  if (!gpu.memory_operations_64) {
    throw ConfigError(fmt::format(
        "copy = 'cuda': GPU {} ({}) has no 64-bit stream memory operations, which its gates need",
        gpu.ordinal, gpu.name));
  }
  return std::make_unique<CudaDevice>(options, gpu);
}

}  // namespace hoccl::hw
