#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "hw/calibrate/copy_path_raii.h"
#include "hw/calibrate/spin.h"
#include "hw/copy/post_copy_raii.h"
#include "hw/cuda/cuda_devices.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::CopyClass;
using engine::Seconds;
using namespace engine::literals;

namespace {

/// A batch of 64 copies of 2 MiB without overlap.
constexpr std::size_t kBufferSize = std::size_t{128} << 20;
constexpr Bytes kBusySize = 64_MiB;
/// Time for the CPU to hand over what is measured.
constexpr Seconds kHeadStart{1.2e-3};

void allow_access(int device, int peer) {
  int possible = 0;
  require_cuda(cudaDeviceCanAccessPeer(&possible, device, peer), "ask for peer access");
  if (possible == 0) require_cuda(cudaErrorPeerAccessUnsupported, "access the peer's memory");
  const cudaError_t result = cudaDeviceEnablePeerAccess(peer, 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();  // it would be found by the next who asks
    return;
  }
  require_cuda(result, "enable peer access");
}

std::size_t bytes(Bytes size) { return static_cast<std::size_t>(size.count()); }

}  // namespace

bool is_done(const CudaEvent& event) {
  const cudaError_t result = cudaEventQuery(event.get());
  if (result == cudaErrorNotReady) return false;
  require_cuda(result, "query an event");
  return true;
}

void wait_for(const CudaEvent& event) {
  spin_until("an event of the GPU", [&] { return is_done(event); });
}

void record(const CudaEvent& event, const CudaStream& stream) {
  require_cuda(cudaEventRecord(event.get(), stream.get()), "record an event");
}

Seconds between(const CudaEvent& begin, const CudaEvent& end) {
  float milliseconds = 0.0F;
  require_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()),
               "ask for the time between two events");
  return Seconds(static_cast<double>(milliseconds) * 1e-3);
}

CopyPath::CopyPath(CopyClass copy_class, int device, int peer)
    : name_(to_string(copy_class)), copy_class_(copy_class) {
  if (copy_class == CopyClass::kPeer) {
    use_cuda_device(peer);
    peer_memory_ = std::make_unique<DeviceMemory>(kBufferSize);
  }
  use_cuda_device(device);
  if (copy_class == CopyClass::kPeer) allow_access(device, peer);
  device_memory_ = std::make_unique<DeviceMemory>(kBufferSize);
  if (copy_class != CopyClass::kPeer) host_memory_ = std::make_unique<PinnedMemory>(kBufferSize);
  switch (copy_class) {
    case CopyClass::kPeer:
      source_ = device_memory_->data();
      target_ = peer_memory_->data();
      break;
    case CopyClass::kDeviceToHost:
      source_ = device_memory_->data();
      target_ = host_memory_->data();
      break;
    case CopyClass::kHostToDevice:
      source_ = host_memory_->data();
      target_ = device_memory_->data();
      break;
  }
  const CudaStream stream;
  const CudaEvent begin(CudaEvent::Timing::kOn);
  const CudaEvent end(CudaEvent::Timing::kOn);
  copy(stream, kBusySize);  // the first one of a process is slow
  record(begin, stream);
  copy(stream, kBusySize);
  record(end, stream);
  wait_for(end);
  busy_copies_ = std::max(1, static_cast<int>(std::ceil(kHeadStart / between(begin, end))));
}

CopyPath::~CopyPath() = default;

std::size_t CopyPath::next(Bytes size) {
  HOCCL_CHECK(bytes(size) <= kBufferSize, "copy of {} bytes", size.count());
  if (next_ + bytes(size) > kBufferSize) next_ = 0;
  const std::size_t part = next_;
  next_ += bytes(size);
  return part;
}

void CopyPath::copy(const CudaStream& stream, Bytes size) {
  const std::size_t part = next(size);
  post_copy(copy_class_, target_ + part, source_ + part, size, stream.get());
}

void CopyPath::copy_first(const CudaStream& stream, Bytes size) {
  post_copy(copy_class_, target_, source_, size, stream.get());
}

volatile std::uint64_t* CopyPath::last_word(Bytes size) const {
  if (copy_class_ != CopyClass::kDeviceToHost) return nullptr;
  return reinterpret_cast<volatile std::uint64_t*>(target_ + bytes(size)) - 1;
}

void CopyPath::choose_batch(Bytes size, int count) {
  batch_.clear();
  for (int i = 0; i < count; ++i) {
    const std::size_t part = next(size);
    batch_.add(target_ + part, source_ + part, bytes(size));
  }
}

void CopyPath::copy_batch(const CudaStream& stream) { batch_.post(stream.get()); }

void CopyPath::keep_busy(const CudaStream& stream) {
  for (int i = 0; i < busy_copies_; ++i) copy(stream, kBusySize);
}

void EngineStopwatch::start(const CudaStream& stream) {
  path_.keep_busy(stream);
  record(begin_, stream);
}

void EngineStopwatch::join(const CudaStream& other) {
  require_cuda(cudaStreamWaitEvent(other.get(), begin_.get(), 0), "let a stream wait");
}

std::optional<Seconds> EngineStopwatch::stop(const CudaStream& stream) {
  record(end_, stream);
  const bool was_late = is_done(begin_);
  wait_for(end_);
  if (was_late) return std::nullopt;
  return between(begin_, end_);
}

}  // namespace hoccl::hw
