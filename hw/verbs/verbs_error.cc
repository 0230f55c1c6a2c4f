#include "hw/verbs/verbs_error.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace hoccl::hw {
namespace {

/// What is nearly always behind it.
std::string advice(int error_number) {
  rlimit limit{};
  switch (error_number) {
    case ENOMEM:
      if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
      return fmt::format(
          " (this process may lock {} KiB of memory: raise it with 'ulimit -l unlimited', in "
          "/etc/security/limits.conf or by the launcher's LimitMEMLOCK)",
          limit.rlim_cur >> 10);
    case EACCES:
    case EPERM:
      return " (is /dev/infiniband/uverbs* readable and writable for this user?)";
    case ENETUNREACH:
    case EHOSTUNREACH:
      return " (no route between the two GIDs: choose another with --gid-index, or give the "
             "interface an address)";
    case ETIMEDOUT:
      return " (the other GID's address was not resolved: is the interface up, and is the GID "
             "index "
             "the right one?)";
    default:
      return {};
  }
}

}  // namespace

VerbsError::VerbsError(const std::string& what, int error_number)
    : std::runtime_error(fmt::format(
          "{}: {}{}", what, std::generic_category().message(error_number), advice(error_number))),
      error_number_(error_number) {}

}  // namespace hoccl::hw
