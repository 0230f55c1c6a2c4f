#include "sim/run/fork_pool.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/config_error.h"

namespace hoccl::sim {
namespace {

// First byte of what a child writes.
constexpr char kReturned = 'R';
constexpr char kConfigError = 'C';
constexpr char kRunError = 'E';

struct Child {
  std::size_t index = 0;
  pid_t process = -1;
  int pipe = -1;
};

void write_all(int file, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the parent is gone
    written += static_cast<std::size_t>(count);
  }
}

std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

[[noreturn]] void run_child(int pipe, std::size_t index,
                            const std::function<std::string(std::size_t)>& task) {
  std::string message;
  try {
    message = kReturned + task(index);
  } catch (const engine::ConfigError& error) {
    message = kConfigError + std::string(error.what());
  } catch (const std::exception& error) {
    message = kRunError + std::string(error.what());
  }
  write_all(pipe, message);
  // The parent's buffers and exit handlers are copies here and must not run twice.
  ::_exit(0);
}

Child start(std::size_t index, const std::function<std::string(std::size_t)>& task) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw RunError(fmt::format("no pipe for a simulation: {}", std::strerror(errno)));
  }
  std::fflush(nullptr);
  const pid_t process = ::fork();
  if (process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw RunError(fmt::format("no process for a simulation: {}", std::strerror(errno)));
  }
  if (process == 0) {
    ::close(ends[0]);
    run_child(ends[1], index, task);
  }
  ::close(ends[1]);
  return {index, process, ends[0]};
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("exited with {} and no result", WEXITSTATUS(status));
}

/// Waits for the child; what it wrote, and how it ended.
std::pair<std::string, int> finish(const Child& child) {
  std::string text = read_all(child.pipe);
  ::close(child.pipe);
  int status = 0;
  while (::waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  return {std::move(text), status};
}

}  // namespace

std::vector<std::string> run_forked(std::size_t count, int jobs,
                                    const std::function<std::string(std::size_t)>& task,
                                    const std::function<std::string(std::size_t)>& label) {
  HOCCL_CHECK(jobs >= 1, "{} jobs", jobs);
  std::vector<std::string> results(count);
  std::vector<Child> running;
  std::optional<std::string> config_error;
  std::optional<std::string> run_error;
  std::size_t next = 0;
  while (next < count || !running.empty()) {
    const bool failed = config_error || run_error;
    if (failed && running.empty()) break;
    if (!failed && next < count && running.size() < static_cast<std::size_t>(jobs)) {
      running.push_back(start(next, task));
      ++next;
      continue;
    }
    // Results are small enough for a pipe's buffer, so waiting for the oldest blocks nobody else.
    const Child child = running.front();
    running.erase(running.begin());
    auto [text, status] = finish(child);
    if (!text.empty() && text.front() == kReturned) {
      results[child.index] = text.substr(1);
    } else if (!text.empty() && text.front() == kConfigError) {
      if (!config_error) config_error = text.substr(1);
    } else if (!run_error) {
      run_error = fmt::format("{}: the simulation {}", label(child.index),
                              text.empty() ? how_it_ended(status) : "failed: " + text.substr(1));
    }
  }
  if (config_error) throw engine::ConfigError(*config_error);
  if (run_error) throw RunError(*run_error);
  return results;
}

}  // namespace hoccl::sim
