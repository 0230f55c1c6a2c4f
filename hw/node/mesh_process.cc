#include "hw/node/mesh_process.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace hoccl::hw {

// By number: the <sys/pidfd.h> of glibc 2.36 declares both, but not for C++ (no extern "C").

FileDescriptor open_process(pid_t process) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

bool kill_process(const FileDescriptor& process) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0 ||
         errno == ESRCH;
}

}  // namespace hoccl::hw
