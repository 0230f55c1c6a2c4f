#include "hw/bootstrap/launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/base/check.h"
#include "hw/bootstrap/deadline.h"
#include "hw/bootstrap/job_secret.h"
#include "hw/bootstrap/sockets.h"
#include "hw/system/file_descriptor.h"
#include "hw/system/system_error.h"

extern char** environ;

namespace hoccl::hw {

namespace {

void say(const std::string& line) { std::fputs(("hoccl: " + line + "\n").c_str(), stderr); }

/// SIGCHLD and the signals to be passed on wait in the kernel until they are asked for.
class HeldSignals {
 public:
  HeldSignals() {
    ::sigemptyset(&held_);
    for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) ::sigaddset(&held_, signal);
    ::sigprocmask(SIG_BLOCK, &held_, &before_);
    // Where children are ignored they leave no exit status.
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &standard, &child_before_);
  }
  ~HeldSignals() {
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Also in a child of this process.
  void release() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  /// The next signal; none when the deadline, if any, has passed.
  [[nodiscard]] std::optional<siginfo_t> wait(const std::optional<Deadline>& deadline) const {
    siginfo_t info{};
    if (!deadline) return ::sigwaitinfo(&held_, &info) > 0 ? std::optional(info) : std::nullopt;
    const int milliseconds = deadline->poll_milliseconds();
    const timespec left{.tv_sec = milliseconds / 1000,
                        .tv_nsec = (milliseconds % 1000) * 1'000'000L};
    return ::sigtimedwait(&held_, &info, &left) > 0 ? std::optional(info) : std::nullopt;
  }

 private:
  sigset_t held_;
  sigset_t before_;
  struct sigaction child_before_ {};
};

/// To stderr, with calls that are safe after fork() only.
void write_line(std::string_view first, std::string_view second) {
  const std::array<std::string_view, 3> texts = {first, second, "\n"};
  std::array<iovec, 3> parts;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    parts[i] = {.iov_base = const_cast<char*>(texts[i].data()), .iov_len = texts[i].size()};
  }
  [[maybe_unused]] const ssize_t written =
      ::writev(STDERR_FILENO, parts.data(), static_cast<int>(parts.size()));
}

/// What execve() wants, made before fork(): a child of fork() should not allocate.
class StringList {
 public:
  explicit StringList(std::vector<std::string> texts) : texts_(std::move(texts)) {
    for (std::string& text : texts_) pointers_.push_back(text.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> pointers_;
};

/// Of the same job in all ranks.
struct JobEnvironment {
  int size = 0;
  LoopbackListener listener;
  JobSecret secret = JobSecret::generate();

  [[nodiscard]] std::vector<std::string> of(int rank) const {
    std::vector<std::string> texts;
    for (char** text = environ; *text != nullptr; ++text) {
      const std::string_view entry = *text;
      // What a launcher above this one has said is not for the ranks.
      const bool ours =
          entry.starts_with("HOCCL_RANK=") || entry.starts_with("HOCCL_SIZE=") ||
          entry.starts_with("HOCCL_RENDEZVOUS=") || entry.starts_with("HOCCL_LISTENING_SOCKET=") ||
          entry.starts_with("HOCCL_JOB_SECRET=") || entry.starts_with("HOCCL_JOB_SECRET_FILE=");
      if (!ours) texts.emplace_back(entry);
    }
    texts.push_back(fmt::format("HOCCL_RANK={}", rank));
    texts.push_back(fmt::format("HOCCL_SIZE={}", size));
    texts.push_back(fmt::format("HOCCL_RENDEZVOUS=127.0.0.1:{}", listener.port));
    texts.push_back(fmt::format("HOCCL_JOB_SECRET={}", secret.digits()));
    if (rank == 0) {
      texts.push_back(fmt::format("HOCCL_LISTENING_SOCKET={}", listener.socket.get()));
    }
    return texts;
  }
};

class Children {
 public:
  explicit Children(const HeldSignals& signals) : signals_(signals) {}
  ~Children() {
    signal_all(SIGKILL);
    for (const pid_t process : processes_) {
      if (process > 0) ::waitpid(process, nullptr, 0);
    }
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void start(const StringList& arguments, const StringList& environment, int inherited_socket) {
    const std::string failure =
        fmt::format("hoccl: rank {} cannot be started: ", processes_.size());
    const pid_t parent = ::getpid();
    const pid_t process = ::fork();
    if (process < 0) throw SystemError(fmt::format("start rank {}", processes_.size()));
    if (process == 0) {
      // Only calls that are safe after fork(). Should the parent have died before prctl(), nobody
      // would send the signal any more.
      if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent) ::_exit(127);
      if (inherited_socket >= 0) ::fcntl(inherited_socket, F_SETFD, 0);
      signals_.release();
      // Not its path: another program may be there by now, or none.
      ::execve("/proc/self/exe", arguments.get(), environment.get());
      write_line(failure, ::strerrordesc_np(errno));
      ::_exit(127);
    }
    processes_.push_back(process);
  }

  void signal_all(int signal) const {
    for (const pid_t process : processes_) {
      if (process > 0) ::kill(process, signal);
    }
  }

  /// Ranks that have ended since the last call, with their wait status.
  std::vector<std::pair<int, int>> collect() {
    std::vector<std::pair<int, int>> ended;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      int status = 0;
      if (processes_[rank] > 0 && ::waitpid(processes_[rank], &status, WNOHANG) > 0) {
        processes_[rank] = 0;
        ended.emplace_back(static_cast<int>(rank), status);
      }
    }
    return ended;
  }

  [[nodiscard]] std::vector<int> running() const {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
      if (processes_[rank] > 0) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
  }

 private:
  const HeldSignals& signals_;
  std::vector<pid_t> processes_;  ///< by rank; 0 once it has ended
};

/// Waits for all children; decides the exit code.
class Vigil {
 public:
  Vigil(Children& children, const HeldSignals& signals, engine::Seconds end_time)
      : children_(children), signals_(signals), end_time_(end_time) {}

  int keep() {
    while (!children_.running().empty()) {
      const auto signal = signals_.wait(end_);
      if (signal && signal->si_signo != SIGCHLD) pass_on(*signal);
      for (const auto& [rank, status] : children_.collect()) judge(rank, status);
      if (end_ && end_->passed() && !killed_) kill_the_rest();
    }
    return exit_code_;
  }

 private:
  void pass_on(const siginfo_t& signal) {
    // Ctrl-C goes from the terminal to the ranks, too.
    if (signal.si_code != SI_KERNEL) children_.signal_all(signal.si_signo);
    told_to_end_ = true;
    set_exit_code(128 + signal.si_signo);
  }

  void judge(int rank, int status) {
    if (WIFSIGNALED(status)) {
      const bool by_us = told_to_end_ || killed_;
      if (!by_us) say(fmt::format("rank {} was killed by signal {}", rank, WTERMSIG(status)));
      set_exit_code(1);
    } else if (WEXITSTATUS(status) != 0) {
      set_exit_code(WEXITSTATUS(status));
    }
  }

  /// The first one counts, and the time runs from it.
  void set_exit_code(int code) {
    if (exit_code_ != 0) return;
    exit_code_ = code;
    end_.emplace(end_time_);
  }

  void kill_the_rest() {
    killed_ = true;
    end_.reset();
    const std::vector<int> ranks = children_.running();
    if (ranks.empty()) return;
    say(fmt::format("{} {} did not end within {} s and {} killed",
                    ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "), end_time_.count(),
                    ranks.size() == 1 ? "is" : "are"));
    children_.signal_all(SIGKILL);
  }

  Children& children_;
  const HeldSignals& signals_;
  engine::Seconds end_time_;
  int exit_code_ = 0;
  bool told_to_end_ = false;
  bool killed_ = false;
  std::optional<Deadline> end_;
};

}  // namespace

int launch_local_ranks(int ranks, const std::vector<std::string>& arguments,
                       engine::Seconds end_time) {
  HOCCL_CHECK(ranks > 0, "{} ranks", ranks);
  std::vector<std::string> with_name = {program_invocation_name};
  with_name.insert(with_name.end(), arguments.begin(), arguments.end());
  const StringList argument_list(std::move(with_name));

  JobEnvironment job{.size = ranks, .listener = listen_on_loopback()};
  const HeldSignals signals;
  Children children(signals);
  for (int rank = 0; rank < ranks; ++rank) {
    children.start(argument_list, StringList(job.of(rank)),
                   rank == 0 ? job.listener.socket.get() : -1);
    if (rank == 0) job.listener.socket.reset();
  }
  return Vigil(children, signals, end_time).keep();
}

}  // namespace hoccl::hw
