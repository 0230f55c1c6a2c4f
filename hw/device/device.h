#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/topology/topology.h"
#include "hw/copy/copy_engine.h"
#include "hw/device/dma_buf.h"
#include "hw/device/memory_block.h"
#include "hw/fabric/hw_options.h"
#include "hw/proof/zero_sm_verdict.h"
#include "hw/stream/streams.h"
#include "hw/system/file_descriptor.h"
#include "hw/trace/leg_trace.h"

namespace hoccl::hw {

/// What plays a rank's GPU: its memory, its copy engines and its streams.
class Device {
 public:
  virtual ~Device() = default;

  /// For people: what it is and its driver.
  [[nodiscard]] virtual std::string description() const = 0;

  /// Memory of the GPU, zeroed, that other processes of the host can map. `name` is for people.
  virtual std::shared_ptr<MemoryBlock> allocate(const std::string& name, engine::Bytes size) = 0;
  /// The allocation around memory of the application's; null when it is none that others can map.
  virtual std::shared_ptr<MemoryBlock> find(std::span<const std::byte> memory) = 0;
  /// Maps what a process of this host has named; null when that is not possible.
  virtual std::shared_ptr<MemoryBlock> attach(const BlockName& name, FileDescriptor descriptor) = 0;
  /// Lets copies and streams of the GPU use memory of the host for as long as the result lives.
  virtual std::shared_ptr<const void> pin(std::span<std::byte> memory) = 0;
  /// How NICs can be given access to it; null for memory that is no GPU's.
  virtual DmaBufExport dma_buf_export(std::span<const std::byte> memory) = 0;
  /// What NICs have written into the GPU's memory, and completed, is seen by whoever reads it after
  /// this, other GPUs included.
  virtual void make_rdma_writes_visible() {}
  /// The slots of a GPU's place lie in its memory, not in the host's.
  [[nodiscard]] virtual bool has_own_memory() const = 0;

  /// Between memory of the GPU or of the host and ordinary memory; done when they return.
  virtual void read(std::span<std::byte> to, const std::byte* from) = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;

  /// Records what the GPU does from now on, for this process. Slow: nothing may be timed meanwhile.
  virtual void start_recording() = 0;
  /// What it has done; all of it must have ended. Of ranks that are threads of one process, the
  /// last one to ask is told of all. An empty verdict where there is no GPU.
  virtual ZeroSmVerdict stop_recording() = 0;

  /// `wake` may be called after a completion, from any thread.
  virtual std::unique_ptr<CopyEngine> make_copy_engine(std::function<void()> wake,
                                                       LegTrace& trace) = 0;
  /// `reached` may be called from any thread.
  virtual std::unique_ptr<Streams> make_streams(
      std::function<void(engine::GateReached)> reached) = 0;
};

/// Throws ConfigError when the options name a GPU that is not there, or one that is not built in.
std::unique_ptr<Device> make_device(const HwOptions& options, const engine::Topology& topology,
                                    engine::Rank rank);

/// Each GPU that --copy cuda could use, for people; starts CUDA. Nothing where it is not built in
/// or finds none. Throws the device's error.
std::vector<std::string> describe_gpus();
/// Where each GPU that --copy cuda could use is on the PCI bus ("0000:1b:00.0"), by CUDA's number;
/// starts CUDA. Nothing where it is not built in or finds none. Throws the device's error.
std::vector<std::string> gpu_bus_ids();
/// This program has --copy cuda.
bool has_cuda();

}  // namespace hoccl::hw
