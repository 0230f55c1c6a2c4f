#include "hw/bootstrap/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "engine/base/config_error.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw engine::ConfigError(fmt::format("HOCCL_JOB_SECRET_FILE={}: {}", path, why));
}

std::string system_reason() { return std::generic_category().message(errno); }

}  // namespace

JobSecret read_secret_file(const std::string& path) {
  // Not to hang when it is a pipe.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) refuse(path, "cannot be opened: " + system_reason());
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) refuse(path, system_reason());
  if (!S_ISREG(status.st_mode)) refuse(path, "expected a regular file");
  if (status.st_uid != ::geteuid()) refuse(path, "belongs to another user");
  constexpr unsigned kOthers = S_IRWXG | S_IRWXO;
  if ((status.st_mode & kOthers) != 0) {
    refuse(path, fmt::format("may be used by others (mode {:04o}): expected 0600 or 0400",
                             status.st_mode & 07777U));
  }
  std::array<char, 128> buffer;
  const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
  if (count < 0) refuse(path, "cannot be read: " + system_reason());
  std::string_view text(buffer.data(), static_cast<std::size_t>(count));
  while (text.ends_with('\n')) text.remove_suffix(1);
  try {
    return JobSecret::parse(text);
  } catch (const engine::ConfigError& error) {
    refuse(path, error.what());
  }
}

}  // namespace hoccl::hw
