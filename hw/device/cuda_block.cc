#include "hw/device/cuda_block.h"

#include <cstring>
#include <map>
#include <mutex>

#include "hw/cuda/cuda_raii.h"
#include "hw/cuda/driver_raii.h"

namespace hoccl::hw {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(BlockName::handle));

CUdeviceptr pointer(const std::byte* address) { return reinterpret_cast<CUdeviceptr>(address); }

/// Blocks of this process by address, for its other ranks: CUDA IPC maps no memory into the process
/// that it comes from.
class OwnBlocks {
 public:
  static OwnBlocks& get() {
    static OwnBlocks blocks;
    return blocks;
  }
  void add(const std::shared_ptr<MemoryBlock>& block) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(blocks_, [](const auto& entry) { return entry.second.expired(); });
    blocks_[address_of(*block)] = block;
  }
  std::shared_ptr<MemoryBlock> at(std::uint64_t address) {
    const std::scoped_lock lock(mutex_);
    const auto entry = blocks_.find(address);
    return entry == blocks_.end() ? nullptr : entry->second.lock();
  }
  static std::uint64_t address_of(const MemoryBlock& block) {
    return reinterpret_cast<std::uintptr_t>(block.data());
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, std::weak_ptr<MemoryBlock>> blocks_;
};

/// What this process can hand on.
class OwnBlock : public MemoryBlock {
 public:
  OwnBlock(std::byte* data, engine::Bytes size) : data_(data), size_(size) {
    const CudaDriver& driver = CudaDriver::get();
    require_driver(
        driver.pointer_attribute(&identity_, CU_POINTER_ATTRIBUTE_BUFFER_ID, pointer(data)),
        "ask for the identity of memory");
    int can_be_shared = 0;
    const CUresult asked = driver.pointer_attribute(
        &can_be_shared, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, pointer(data));
    if (asked != CUDA_SUCCESS || can_be_shared == 0) return;
    cudaIpcMemHandle_t handle{};
    if (cudaIpcGetMemHandle(&handle, data) != cudaSuccess) {
      cudaGetLastError();  // or the next call would report it
      return;
    }
    name_.kind = BlockName::Kind::kDevice;
    name_.process = process_token();
    name_.address = reinterpret_cast<std::uintptr_t>(data);
    name_.size_bytes = size.count();
    std::memcpy(name_.handle.data(), &handle, sizeof(handle));
  }
  [[nodiscard]] std::byte* data() const override { return data_; }
  [[nodiscard]] engine::Bytes size() const override { return size_; }
  [[nodiscard]] BlockName name() const override { return name_; }
  [[nodiscard]] std::uint64_t identity() const override { return identity_; }

 private:
  std::byte* data_;
  engine::Bytes size_;
  std::uint64_t identity_ = 0;
  BlockName name_;
};

class AllocatedBlock final : public OwnBlock {
 public:
  AllocatedBlock(std::unique_ptr<DeviceMemory> memory, engine::Bytes size)
      : OwnBlock(memory->data(), size), memory_(std::move(memory)) {}

 private:
  std::unique_ptr<DeviceMemory> memory_;
};

/// Of another process.
class MappedBlock final : public MemoryBlock {
 public:
  MappedBlock(std::byte* data, engine::Bytes size) : data_(data), size_(size) {}
  MappedBlock(const MappedBlock&) = delete;
  MappedBlock& operator=(const MappedBlock&) = delete;
  ~MappedBlock() override { cudaIpcCloseMemHandle(data_); }
  [[nodiscard]] std::byte* data() const override { return data_; }
  [[nodiscard]] engine::Bytes size() const override { return size_; }
  [[nodiscard]] BlockName name() const override { return {}; }

 private:
  std::byte* data_;
  engine::Bytes size_;
};

/// cudaMalloc puts small allocations into one block of this size, and an IPC handle maps the whole
/// block: from this size on an allocation has its own.
constexpr std::int64_t kOwnBlockSize = std::int64_t{2} << 20;

}  // namespace

std::shared_ptr<MemoryBlock> allocate_cuda_block(engine::Bytes size) {
  const std::int64_t blocks = (size.count() + kOwnBlockSize - 1) / kOwnBlockSize;
  const engine::Bytes rounded(std::max<std::int64_t>(blocks, 1) * kOwnBlockSize);
  auto memory = std::make_unique<DeviceMemory>(static_cast<std::size_t>(rounded.count()));
  auto block = std::make_shared<AllocatedBlock>(std::move(memory), rounded);
  OwnBlocks::get().add(block);
  return block;
}

std::shared_ptr<MemoryBlock> find_cuda_block(std::span<const std::byte> memory) {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory.data()) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  if (attributes.type != cudaMemoryTypeDevice) return nullptr;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  require_driver(CudaDriver::get().address_range(&base, &size, pointer(memory.data())),
                 "find the allocation around memory");
  auto* data = reinterpret_cast<std::byte*>(base);
  // Of memory mapped in pieces the range is one piece only.
  if (memory.data() + memory.size() > data + size) return nullptr;
  if (auto known = OwnBlocks::get().at(base)) {
    std::uint64_t identity = 0;
    CudaDriver::get().pointer_attribute(&identity, CU_POINTER_ATTRIBUTE_BUFFER_ID, base);
    if (known->identity() == identity) return known;
  }
  auto block = std::make_shared<OwnBlock>(data, engine::Bytes(static_cast<std::int64_t>(size)));
  OwnBlocks::get().add(block);
  return block;
}

std::shared_ptr<MemoryBlock> attach_cuda_block(const BlockName& name) {
  if (name.kind != BlockName::Kind::kDevice || name.size_bytes <= 0) return nullptr;
  if (name.process == process_token()) return OwnBlocks::get().at(name.address);
  cudaIpcMemHandle_t handle{};
  std::memcpy(&handle, name.handle.data(), sizeof(handle));
  void* data = nullptr;
  if (cudaIpcOpenMemHandle(&data, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
    cudaGetLastError();
    return nullptr;
  }
  return std::make_shared<MappedBlock>(static_cast<std::byte*>(data),
                                       engine::Bytes(name.size_bytes));
}

namespace {

class Pin {
 public:
  explicit Pin(std::span<std::byte> memory) : memory_(memory) {
    require_cuda(cudaHostRegister(memory.data(), memory.size(),
                                  cudaHostRegisterPortable | cudaHostRegisterMapped),
                 "page-lock memory of the host");
  }
  ~Pin() { cudaHostUnregister(memory_.data()); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  std::span<std::byte> memory_;
};

}  // namespace

std::shared_ptr<const void> pin_for_cuda(std::span<std::byte> memory) {
  static std::mutex mutex;
  static std::map<const std::byte*, std::weak_ptr<Pin>> pins;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<Pin>& known = pins[memory.data()];
  std::shared_ptr<Pin> pin = known.lock();
  if (pin == nullptr) {
    pin = std::make_shared<Pin>(memory);
    known = pin;
  }
  return pin;
}

}  // namespace hoccl::hw
