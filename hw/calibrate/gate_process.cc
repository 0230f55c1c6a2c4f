#include "hw/calibrate/gate_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string_view>

#include "engine/base/config_error.h"
#include "hw/calibrate/calibration_failed.h"
#include "hw/calibrate/connections.h"
#include "hw/system/file_descriptor.h"
#include "hw/system/monotonic_clock.h"

namespace hoccl::hw {

using engine::Seconds;

namespace {

/// CUDA starts in seconds, the measurement takes two.
constexpr Seconds kLimit{30.0};
constexpr const char* kOwnProgram = "/proc/self/exe";

[[noreturn]] void fail(const char* what, int error) {
  throw CalibrationFailed(fmt::format("{}: {}", what, std::strerror(error)));
}

std::vector<std::string> environment_with(int connections) {
  const std::string name = std::string(kConnectionsVariable) + "=";
  std::vector<std::string> result;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with(name)) result.emplace_back(*each);
  }
  result.push_back(fmt::format("{}{}", name, connections));
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// A child that is gone, and waited for, when this is.
class Child {
 public:
  Child(std::vector<std::string> words, std::vector<std::string> environment, int output) {
    words.insert(words.begin(), "hoccl");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    const int error = ::posix_spawn(&process_, kOwnProgram, &actions, nullptr,
                                    pointers(words).data(), pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) fail("start this program again", error);
  }
  ~Child() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    (void)wait();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Its status, as waitpid() tells it.
  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0) {
      if (errno == EINTR) continue;
      process_ = -1;
      fail("wait for this program", errno);
    }
    process_ = -1;
    return status;
  }

 private:
  pid_t process_ = -1;
};

/// All that comes until the other end is closed.
std::string read_all(int descriptor) {
  const Seconds end = monotonic_now() + kLimit;
  std::string text;
  std::array<char, 4096> block;
  while (true) {
    const Seconds left = end - monotonic_now();
    if (left <= Seconds(0.0)) {
      throw CalibrationFailed(fmt::format("not measured within {} s", kLimit.count()));
    }
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waiting, 1, 1 + static_cast<int>(left.count() * 1e3));
    if (ready < 0 && errno != EINTR) fail("wait for samples", errno);
    if (ready <= 0) continue;
    const ssize_t count = ::read(descriptor, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read samples", errno);
    if (count == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

Samples gates_of_another_process(const std::vector<std::string>& words, int connections) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("make a pipe", errno);
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  Child child(words, environment_with(connections), writing.get());
  writing = FileDescriptor();
  std::istringstream text(read_all(reading.get()));
  const int status = child.wait();
  if (WIFSIGNALED(status)) {
    throw CalibrationFailed(fmt::format("its process was killed by signal {}", WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0) {
    throw CalibrationFailed(
        fmt::format("its process ended with exit code {}", WEXITSTATUS(status)));
  }
  try {
    return read_samples(text);
  } catch (const engine::ConfigError& error) {
    throw CalibrationFailed(error.what());
  }
}

}  // namespace hoccl::hw
