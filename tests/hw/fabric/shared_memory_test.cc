#include "hw/system/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "hw/system/system_error.h"

namespace hoccl::hw {
namespace {

using engine::Bytes;

FileDescriptor duplicate(int descriptor) {
  return FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

TEST(SharedMemory, IsZeroedAndSharedByItsDescriptor) {
  const SharedMemory memory = SharedMemory::create("test", Bytes(10000));
  EXPECT_EQ(memory.data()[9999], std::byte{0});
  const SharedMemory attached = SharedMemory::attach(duplicate(memory.descriptor()), Bytes(10000));
  memory.data()[9999] = std::byte{7};
  EXPECT_EQ(attached.data()[9999], std::byte{7});
}

TEST(SharedMemory, OneProcessMapsItOnce) {
  const SharedMemory memory = SharedMemory::create("test", Bytes(100));
  EXPECT_EQ(SharedMemory::attach(duplicate(memory.descriptor()), Bytes(100)).data(), memory.data());
}

TEST(SharedMemory, ItsSizeCannotBeChangedByAnybody) {
  const SharedMemory memory = SharedMemory::create("test", Bytes(8192));
  EXPECT_NE(::ftruncate(memory.descriptor(), 0), 0);
  EXPECT_EQ(errno, EPERM);
}

TEST(SharedMemory, RefusesMemoryThatIsSmallerThanItShouldBe) {
  const SharedMemory memory = SharedMemory::create("test", Bytes(100));
  EXPECT_THROW(SharedMemory::attach(duplicate(memory.descriptor()), Bytes(101)), SystemError);
}

TEST(SharedMemory, RefusesMemoryThatSomebodyCouldShrink) {
  FileDescriptor descriptor(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(descriptor.get(), 4096), 0);
  EXPECT_THROW(SharedMemory::attach(std::move(descriptor), Bytes(4096)), SystemError);
}

TEST(SharedMemory, ItsOwnerKeepsTheMappingAlive) {
  std::shared_ptr<const void> owner;
  std::byte* data = nullptr;
  {
    const SharedMemory memory = SharedMemory::create("test", Bytes(100));
    owner = memory.owner();
    data = memory.data();
  }
  data[0] = std::byte{1};  // faults if it were unmapped
  EXPECT_EQ(data[0], std::byte{1});
}

}  // namespace
}  // namespace hoccl::hw
