#include "hw/bootstrap/program_version.h"

namespace hoccl::hw {

std::string program_version() { return HOCCL_VERSION; }

}  // namespace hoccl::hw
