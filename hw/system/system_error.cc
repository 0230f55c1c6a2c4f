#include "hw/system/system_error.h"

#include <cerrno>
#include <system_error>

namespace hoccl::hw {

SystemError::SystemError(const std::string& what) : SystemError(what, errno) {}

SystemError::SystemError(const std::string& what, int error_number)
    : std::runtime_error(what + ": " + std::generic_category().message(error_number)),
      error_number_(error_number) {}

}  // namespace hoccl::hw
