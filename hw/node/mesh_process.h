#pragma once

#include <sys/types.h>

#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// A pidfd: poll() says POLLIN once the last thread of the process has ended. None where the kernel
/// gives none. `process` must not have ended and been reaped, else it may be another by now.
FileDescriptor open_process(pid_t process);

/// False: it lives on. Also true for one that had ended before.
bool kill_process(const FileDescriptor& process);

}  // namespace hoccl::hw
