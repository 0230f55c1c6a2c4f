#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"
#include "hw/system/file_descriptor.h"

namespace hoccl::hw {

/// Where a rank of a job under test lives.
enum class Living : std::uint8_t { kThread, kProcess };

/// A rank did not answer: it died, hangs or reports an error. One line that names it.
class RankFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One rank of a job: answers what its test asks, one request at a time, on a thread or in a
/// process of its own. A process is a fork of the test, so both know the same functions at the same
/// addresses.
class RankHost {
 public:
  /// Answers a request; an exception becomes the RankFailed of the one who asks.
  using Answer = std::function<std::string(std::string_view request)>;
  /// Makes the Answer there. Both end when the RankHost does.
  using Start = std::function<Answer()>;

  /// A process must be forked before this one has threads. The child closes `unwanted`.
  RankHost(engine::Rank rank, Living living, const Start& start, const std::vector<int>& unwanted);
  /// Kills a process that does not end by itself.
  ~RankHost();
  RankHost(const RankHost&) = delete;
  RankHost& operator=(const RankHost&) = delete;

  void ask(std::string_view request);
  /// To the last ask(). Throws RankFailed.
  std::string answer(engine::Seconds timeout);

  [[nodiscard]] bool alive() const { return static_cast<bool>(socket_); }
  /// SIGKILL; it is gone afterwards. Processes only.
  void kill();
  /// Waits until the process has been killed by somebody, whether or not it still answered the last
  /// ask(). Throws RankFailed.
  void await_death(engine::Seconds timeout);
  /// Lets it end by itself. Throws RankFailed when it does not, or ends with an error.
  void end(engine::Seconds timeout);

  /// The parent's end of the connection.
  [[nodiscard]] int socket() const { return socket_.get(); }

 private:
  [[noreturn]] void serve_in_child(int socket, const Start& start,
                                   const std::vector<int>& unwanted);
  void serve(int socket, const Start& start);
  bool wait_readable(engine::Seconds timeout);
  std::string reap();
  [[nodiscard]] std::string name() const;

  const engine::Rank rank_;
  FileDescriptor socket_;
  std::thread thread_;
  pid_t child_ = -1;
};

}  // namespace hoccl::hw
