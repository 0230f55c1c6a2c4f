#pragma once

#include <set>
#include <string>
#include <utility>

#include "engine/base/ids.h"
#include "hw/bootstrap/sockets.h"

namespace hoccl::hw {

/// Says on stderr who was refused and why: once per origin and reason and at most kMaxLines times,
/// then, when it ends, how many more there were. So a flood of strangers is not a flood of lines.
class RefusalLog {
 public:
  static constexpr int kMaxLines = 10;

  explicit RefusalLog(engine::Rank self) : self_(self) {}
  ~RefusalLog();
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;

  void refused(const PeerName& peer, const std::string& reason);

 private:
  engine::Rank self_;
  std::set<std::pair<std::string, std::string>> said_;
  int unsaid_ = 0;
};

}  // namespace hoccl::hw
