#include "tests/hw/job/leftovers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace hoccl::hw {
namespace {

namespace fs = std::filesystem;

/// Each open descriptor of this process, but the one that lists them. By inode, because the name of
/// a file may change.
std::map<int, std::pair<dev_t, ino_t>> open_descriptors() {
  std::map<int, std::pair<dev_t, ino_t>> result;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename().string());
    struct stat status = {};
    if (::fstat(number, &status) == 0) result[number] = {status.st_dev, status.st_ino};
  }
  // The directory that was being read is closed by now.
  std::erase_if(result, [](const auto& entry) { return ::fcntl(entry.first, F_GETFD) < 0; });
  return result;
}

std::string target_of(int descriptor) {
  std::error_code error;
  const fs::path target = fs::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), error);
  return fmt::format("{} -> {}", descriptor, target.string());
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
  for (const auto& [number, file] : open_descriptors()) {
    const auto before = descriptors_.find(number);
    if (before == descriptors_.end() || before->second != file) {
      return "an open descriptor: " + target_of(number);
    }
  }
  const std::string mapping = line_with("/proc/self/maps", "/memfd:hoccl");
  if (!mapping.empty()) return "mapped memory: " + mapping;
  for (const fs::directory_entry& entry : fs::directory_iterator("/dev/shm")) {
    if (entry.path().filename().string().starts_with("hoccl")) return entry.path().string();
  }
  return {};
}

}  // namespace hoccl::hw
