#include "hw/bootstrap/host_identity.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>

#include "hw/system/system_error.h"

namespace hoccl::hw {

HostIdentity read_host_identity() {
  const char* boot_id_path = "/proc/sys/kernel/random/boot_id";
  std::string boot_id;
  if (!std::getline(std::ifstream(boot_id_path), boot_id)) {
    throw SystemError(fmt::format("read {}", boot_id_path));
  }
  const char* namespace_path = "/proc/self/ns/net";
  struct stat network_namespace {};
  if (::stat(namespace_path, &network_namespace) != 0) {
    throw SystemError(fmt::format("look at {}", namespace_path));
  }
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) throw SystemError("ask for the host name");
  return {.kernel = fmt::format("{}/{}", boot_id, network_namespace.st_ino), .name = name.data()};
}

std::string to_line(const HostIdentity& identity) { return identity.kernel + ' ' + identity.name; }

HostIdentity parse_host_identity(const std::string& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return {};
  return {.kernel = line.substr(0, space), .name = line.substr(space + 1)};
}

std::vector<std::string> name_hosts(std::span<const HostIdentity> identities) {
  std::vector<std::string> names;
  for (const HostIdentity& identity : identities) {
    const auto first = std::ranges::find(identities, identity.kernel, &HostIdentity::kernel);
    names.push_back(fmt::format("{} ({})", first->name, first->kernel));
  }
  return names;
}

}  // namespace hoccl::hw
