#include "tests/hw/job/leftovers.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace hoccl::hw {
namespace {

namespace fs = std::filesystem;

/// "3 -> socket:[123]", for each open descriptor of this process but the one that lists them.
std::set<std::string> open_descriptors() {
  std::set<std::string> result;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const fs::path target = fs::read_symlink(entry.path(), error);
    if (error || target.string().ends_with("/fd")) continue;
    result.insert(fmt::format("{} -> {}", entry.path().filename().string(), target.string()));
  }
  return result;
}

std::string line_with(const std::string& file, const std::string& text) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    if (line.find(text) != std::string::npos) return line;
  }
  return {};
}

}  // namespace

Leftovers::Leftovers() : descriptors_(open_descriptors()) { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::string Leftovers::find() const {
  // Sockets in the abstract namespace and memory without a file live no longer than the processes
  // that have them, so these three would show them.
  int status = 0;
  const pid_t child = ::waitpid(-1, &status, WNOHANG);
  if (child >= 0) return fmt::format("a child process ({})", child);
  for (const std::string& descriptor : open_descriptors()) {
    if (!descriptors_.contains(descriptor)) return "an open descriptor: " + descriptor;
  }
  const std::string mapping = line_with("/proc/self/maps", "/memfd:hoccl");
  if (!mapping.empty()) return "mapped memory: " + mapping;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().starts_with("hoccl")) return entry.path().string();
  }
  return {};
}

}  // namespace hoccl::hw
