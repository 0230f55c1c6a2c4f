#pragma once

#include <span>
#include <string>
#include <vector>

namespace hoccl::hw {

/// Which host this process runs on.
struct HostIdentity {
  /// Equal exactly for processes that share a kernel (its boot id) and a network namespace, which
  /// is what abstract sockets need. Containers of one machine may share neither name nor namespace.
  std::string kernel;
  std::string name;  ///< for people
};

/// Throws SystemError.
HostIdentity read_host_identity();

/// One line, and back: a line that is none gives an empty identity.
std::string to_line(const HostIdentity& identity);
HostIdentity parse_host_identity(const std::string& line);

/// A name for each, equal exactly where the kernels are: the first one's own name and its kernel.
std::vector<std::string> name_hosts(std::span<const HostIdentity> identities);

}  // namespace hoccl::hw
