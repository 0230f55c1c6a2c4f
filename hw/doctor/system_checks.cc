#include "hw/doctor/system_checks.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "engine/base/config_error.h"
#include "hw/bootstrap/launch.h"
#include "hw/bootstrap/sockets.h"
#include "hw/run/host_description.h"
#include "hw/system/doorbell.h"
#include "hw/system/file_descriptor.h"
#include "hw/system/monotonic_clock.h"
#include "hw/system/shared_memory.h"
#include "hw/system/system_error.h"

namespace hoccl::hw {

using engine::Bytes;
using engine::Seconds;

namespace {

constexpr engine::Bytes kPage{4096};
/// Far above what any of these takes on a machine that works.
constexpr int kWaitMilliseconds = 1000;

std::optional<rlim_t> limit_of(__rlimit_resource_t resource) {
  rlimit limit = {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::string gibibytes(Bytes size) {
  return fmt::format("{:.1f} GiB", static_cast<double>(size.count()) / 0x1p30);
}

/// Connects to `address` and waits until `listener` sees it. Throws SystemError.
void connect_to(const FileDescriptor& listener, const sockaddr* address, socklen_t size) {
  const FileDescriptor socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw SystemError("open a socket");
  if (::connect(socket.get(), address, size) != 0) throw SystemError("connect");
  pollfd waiting = {.fd = listener.get(), .events = POLLIN, .revents = 0};
  if (::poll(&waiting, 1, kWaitMilliseconds) != 1) throw SystemError("accept", ETIMEDOUT);
}

}  // namespace

Check check_cores(int ranks) {
  const HostDescription host = describe_host();
  const std::string found =
      fmt::format("{} for {} rank{}", cores_of(host), ranks, ranks == 1 ? "" : "s");
  if (host.cores < host.machine_cores) {
    return {"cores", Finding::kWarning, found,
            "the affinity mask hides the others: mpirun --bind-to none, or taskset"};
  }
  if (host.cores >= ranks) return {"cores", Finding::kOk, found, ""};
  return {"cores", Finding::kWarning, found,
          "works, but ranks wait for each other's cores: use fewer (--ranks) to measure"};
}

Check check_memory(Bytes slot_memory) {
  const Bytes available = available_memory();
  const std::string found =
      fmt::format("{} free, slots take {}", gibibytes(available), gibibytes(slot_memory));
  if (available < slot_memory) {
    return {"memory", Finding::kProblem, found, "fewer --ranks, --slots or a smaller --chunk"};
  }
  return {"memory", Finding::kOk, found, ""};
}

Check check_open_files(int ranks) {
  // Per rank of the node: a socket, a segment, two pools and an imported buffer or two.
  const auto needed = static_cast<rlim_t>(64 + 8 * ranks);
  const auto limit = limit_of(RLIMIT_NOFILE);
  if (!limit) return {"open files", Finding::kOk, "unlimited", ""};
  const std::string found = fmt::format("{} allowed, about {} needed", *limit, needed);
  if (*limit >= needed) return {"open files", Finding::kOk, found, ""};
  return {"open files", Finding::kProblem, found, fmt::format("ulimit -n {}", needed)};
}

Check check_shared_memory() {
  try {
    const SharedMemory memory = SharedMemory::create("hoccl-doctor", kPage);
    SharedMemory::attach(FileDescriptor(::dup(memory.descriptor())), kPage);
  } catch (const SystemError& error) {
    return {"shared memory", Finding::kProblem, error.what(),
            "memfd_create with seals (Linux 3.17)"};
  }
  return {"shared memory", Finding::kOk, "memfd with seals works", ""};
}

Check check_futex() {
  constexpr Seconds kNap(1e-3);
  Doorbell doorbell;
  const Seconds begin = monotonic_now();
  doorbell.wait(doorbell.rings(), kNap);
  if (monotonic_now() - begin >= kNap) return {"futex", Finding::kOk, "sleeps and wakes", ""};
  return {"futex", Finding::kProblem, "does not sleep", "allow the futex system call"};
}

Check check_unix_sockets() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A leading zero byte: the abstract name space, which no file system keeps.
  const std::string name = fmt::format("hoccl-doctor-{}", ::getpid());
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  try {
    const FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!listener || ::bind(listener.get(), plain, size) != 0 || ::listen(listener.get(), 1) != 0) {
      throw SystemError("listen on an abstract Unix socket");
    }
    connect_to(listener, plain, size);
  } catch (const SystemError& error) {
    return {"Unix sockets", Finding::kProblem, error.what(), "allow abstract Unix sockets"};
  }
  return {"Unix sockets", Finding::kOk, "abstract names work", ""};
}

Check check_loopback() {
  try {
    const LoopbackListener listener = listen_on_loopback();
    sockaddr_storage address = {};
    socklen_t size = sizeof(address);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    if (::getsockname(listener.socket.get(), plain, &size) != 0)
      throw SystemError("find 127.0.0.1");
    connect_to(listener.socket, plain, size);
  } catch (const SystemError& error) {
    return {"loopback TCP", Finding::kProblem, error.what(), "ip link set lo up"};
  }
  return {"loopback TCP", Finding::kOk, "127.0.0.1 works", ""};
}

Check check_launcher() {
  try {
    const std::optional<Launch> launch = read_launch_environment();
    if (!launch) {
      return {"launcher", Finding::kOk, "none", "hoccl run starts its ranks itself"};
    }
    return {"launcher", Finding::kOk,
            fmt::format("{}: rank {} of {}", launch->launcher, launch->rank, launch->size), ""};
  } catch (const engine::ConfigError& error) {
    return {"launcher", Finding::kProblem, error.what(), "set what it says"};
  }
}

}  // namespace hoccl::hw
