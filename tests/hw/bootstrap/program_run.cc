#include "tests/hw/bootstrap/program_run.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace hoccl::hw::test {

namespace {

constexpr int kPatienceMs = 60'000;

/// Adds what comes to `text`; false when nothing more will.
bool read_more(const FileDescriptor& output, std::string& text) {
  pollfd watched{.fd = output.get(), .events = POLLIN, .revents = 0};
  if (::poll(&watched, 1, kPatienceMs) != 1) {
    ADD_FAILURE() << "nothing happens; so far:\n" << text;
    return false;
  }
  std::array<char, 4096> buffer;
  const ssize_t count = ::read(output.get(), buffer.data(), buffer.size());
  if (count <= 0) return false;
  text.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

}  // namespace

ProgramRun::ProgramRun(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  output_ = FileDescriptor(ends[0]);
  const FileDescriptor write_end(ends[1]);
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  process_ = ::fork();
  if (process_ == 0) {
    ::dup2(write_end.get(), STDOUT_FILENO);
    ::dup2(write_end.get(), STDERR_FILENO);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
}

ProgramRun::~ProgramRun() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

std::string ProgramRun::await_lines(int count) {
  while (std::ranges::count(text_, '\n') < count && read_more(output_, text_)) {
  }
  return text_;
}

std::string ProgramRun::await_end() {
  while (read_more(output_, text_)) {
  }
  return text_;
}

int ProgramRun::exit_code() {
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace hoccl::hw::test
