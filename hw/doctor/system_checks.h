#pragma once

#include "hw/doctor/checks.h"

namespace hoccl::hw {

// What host×loopback is built on.
Check check_cores(int ranks);
Check check_memory(engine::Bytes slot_memory);
Check check_open_files(int ranks);
Check check_shared_memory();
Check check_futex();
Check check_unix_sockets();
Check check_loopback();
Check check_launcher();

}  // namespace hoccl::hw
