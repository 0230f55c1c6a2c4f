#include "hw/system/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

#include "hw/system/system_error.h"

namespace hoccl::hw {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

struct SharedMemory::Mapping {
  FileDescriptor descriptor;
  std::byte* data = nullptr;
  std::size_t size = 0;

  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data != nullptr) ::munmap(data, size);
  }
};

SharedMemory SharedMemory::create(const std::string& name, engine::Bytes size) {
  const auto bytes = std::max<std::size_t>(static_cast<std::size_t>(size.count()), 1);
  const auto fail = [&](const char* what) {
    throw SystemError(fmt::format("{} shared memory '{}' of {}", what, name, to_string(size)));
  };
  FileDescriptor descriptor(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor) fail("create");
  if (::ftruncate(descriptor.get(), static_cast<off_t>(bytes)) != 0) fail("size");
  if (::fcntl(descriptor.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) fail("seal");
  return map(std::move(descriptor), bytes, /*keep=*/true);
}

SharedMemory SharedMemory::attach(FileDescriptor descriptor, engine::Bytes size) {
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) throw SystemError("inspect shared memory");
  const int seals = ::fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals || status.st_size < size.count()) {
    throw SystemError(fmt::format("attach shared memory of {} (it has {} bytes, seals {:#x})",
                                  to_string(size), status.st_size, seals),
                      EINVAL);
  }
  return map(std::move(descriptor), static_cast<std::size_t>(status.st_size), /*keep=*/false);
}

/// One mapping per memory and process, also where several ranks live in one process (tests): so
/// ThreadSanitizer sees all accesses at one address.
SharedMemory SharedMemory::map(FileDescriptor descriptor, std::size_t size, bool keep) {
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<Mapping>> mappings;
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) throw SystemError("inspect shared memory");
  const std::scoped_lock lock(mutex);
  std::erase_if(mappings, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Mapping>& known = mappings[{status.st_dev, status.st_ino}];
  SharedMemory memory;
  memory.mapping_ = known.lock();
  if (memory.mapping_ != nullptr) return memory;
  void* data =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), /*offset=*/0);
  if (data == MAP_FAILED) throw SystemError(fmt::format("map {} bytes of shared memory", size));
  memory.mapping_ = std::make_shared<Mapping>();
  if (keep) memory.mapping_->descriptor = std::move(descriptor);
  memory.mapping_->data = static_cast<std::byte*>(data);
  memory.mapping_->size = size;
  known = memory.mapping_;
  return memory;
}

std::byte* SharedMemory::data() const { return mapping_->data; }
engine::Bytes SharedMemory::size() const { return engine::Bytes(mapping_->size); }
int SharedMemory::descriptor() const { return mapping_->descriptor.get(); }

}  // namespace hoccl::hw
